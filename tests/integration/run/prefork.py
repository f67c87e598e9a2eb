# A server that forks its workers, as gunicorn does: they wait for connections and execute nothing.
# prefork.py WORKERS TURNS: the first worker sleeps for 600 ms (times SLACK) in one of its turns.
import os, select, sys, time

workers, turns = int(sys.argv[1]), int(sys.argv[2])
slack = int(os.environ.get('SLACK', '1'))
ours, other = os.pipe()


def serve_slowly():
    time.sleep(0.6 * slack)


def work(number):
    for turn in range(turns):
        select.select([ours], [], [], 0.02)
        if number == 0 and turn == turns // 2:
            serve_slowly()


children = []
for number in range(workers):
    child = os.fork()
    if child == 0:
        work(number)
        sys.exit(0)
    children.append(child)
print('worker', children[0], flush=True)
for child in children:
    os.waitpid(child, 0)
