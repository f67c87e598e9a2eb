"""An event loop that commits to SQLite where it should not: inside the loop."""
import asyncio, sqlite3, sys, threading, time

def report_writer():                # a second thread, to be seen beside the loop
    time.sleep(3600)

async def take_order(db, number):
    db.execute("insert into orders (number, note) values (?, ?)", (number, "paid"))
    db.commit()                     # waits for the disk: the whole loop stands still

async def main():
    db = sqlite3.connect(sys.argv[1])
    db.execute("create table if not exists orders (number integer, note text)")
    threading.Thread(target=report_writer, name="report-writer", daemon=True).start()
    for number in range(3):
        await asyncio.gather(*(asyncio.sleep(i / 100) for i in range(100)))
        await take_order(db, number)
    await asyncio.sleep(0.5)

asyncio.run(main())
