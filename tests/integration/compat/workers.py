# SPDX-License-Identifier: Apache-2.0
"""Workers of a forking server: os.fork, multiprocessing, subprocess; each turns a loop of its own."""
import concurrent.futures, multiprocessing, os, select, selectors, subprocess, sys, time


def turn(count):
    reader, writer = os.pipe()
    with selectors.DefaultSelector() as selector:
        selector.register(reader, selectors.EVENT_READ)
        for _ in range(count):
            selector.select(0.005)
    os.close(reader)
    os.close(writer)


def square(number):
    turn(3)
    return number * number


def main():
    turn(10)
    for number in range(4):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            turn(10)
            time.sleep(0.3)
            turn(10)
            os.write(writer, b"worker %d, parent known: %d" % (number, os.getppid() > 1))
            os._exit(number)
        os.close(writer)
        text = b""
        while block := os.read(reader, 100):
            text += block
        os.close(reader)
        print(text.decode(), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        turn(3)
    try:
        os.wait()
    except ChildProcessError as error:
        print("no child left:", error.strerror)
    for method in ("fork", "spawn"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print("pool", pool.map(square, range(8)))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        print("threads", list(pool.map(square, range(8))))
    print(subprocess.run(["sh", "-c", "echo child; exit 3"], capture_output=True, text=True))
    sys.exit(4)


if __name__ == "__main__":
    main()
