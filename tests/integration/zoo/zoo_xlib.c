// SPDX-License-Identifier: Apache-2.0
/* A loop over XNextEvent(): a second process changes a property of its window each 20 ms. With each
 * event it makes a request to the server, as real programs do: so most waits of libxcb are for
 * answers. */
#include <X11/Xatom.h>
#include <X11/Xlib.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "inject.h"

static void send_events(Window window, Atom property)
{
    Display *display = XOpenDisplay(NULL);
    for (int i = 0; display != NULL && getppid() != 1; i++) {
        unsigned char value = (unsigned char)i;
        XChangeProperty(display, window, property, XA_INTEGER, 8, PropModeReplace, &value, 1);
        XSync(display, False);
        usleep(INJECT_TICK_MS * 1000);
    }
}

static void ask(Display *display, Window window)
{
    Window root, child;
    int x, y, in_x, in_y;
    unsigned mask;
    (void)XQueryPointer(display, window, &root, &child, &x, &y, &in_x, &in_y, &mask);
}

/* Stop the server; another process continues it. */
static void ask_in_vain(Display *display, Window window, pid_t server, unsigned ms)
{
    struct timespec begin, end;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    kill(server, SIGSTOP);
    if (fork() == 0) {
        usleep(ms * 1000);
        kill(server, SIGCONT);
        _exit(0);
    }
    ask(display, window);
    clock_gettime(CLOCK_MONOTONIC, &end);
    printf("injected XQueryPointer %d ms\n",
           (int)((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000));
    fflush(stdout);
}

int main(int argc, char **argv)
{
    Display *display = XOpenDisplay(NULL);
    if (display == NULL) {
        return 1;
    }
    Window window = XCreateSimpleWindow(display, DefaultRootWindow(display), 0, 0, 80, 80, 0, 0, 0);
    Atom property = XInternAtom(display, "ZOO", False);
    XSelectInput(display, window, PropertyChangeMask | ExposureMask);
    XMapWindow(display, window);
    XSync(display, False);
    pid_t other = fork();
    if (other == 0) {
        send_events(window, property);
        _exit(0);
    }
    inject_start(argc, argv);
    const char *server = getenv("ZOO_SERVER"); /* PID:MILLISECONDS */
    int pid = 0, turn = 0;
    unsigned ms = 0;
    (void)(server != NULL && sscanf(server, "%d:%u", &pid, &ms));
    do {
        XEvent event;
        XNextEvent(display, &event);
        ask(display, window);
        if (pid != 0 && ++turn == 60) {
            ask_in_vain(display, window, pid, ms);
        }
    } while (inject_tick());
    return 0;
}
