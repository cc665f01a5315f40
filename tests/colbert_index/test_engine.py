import sys
import threading

from polyqa.colbert_index.engine import quiet


def test_quiet_in_two_threads_gives_standard_output_back() -> None:
    before = sys.stdout
    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with quiet():
            entered.set()
            leave.wait(10)

    def second() -> None:
        with quiet():
            pass

    threads = [threading.Thread(target=first), threading.Thread(target=second)]
    threads[0].start()
    assert entered.wait(10)
    threads[1].start()
    leave.set()
    for thread in threads:
        thread.join(10)
    assert sys.stdout is before
