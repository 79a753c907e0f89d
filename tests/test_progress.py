"""Lines of progress."""

from __future__ import annotations

import io

from fixedfleet.progress import Progress, ProgressPrinter


def test_rate_and_time_left_count_this_run_only():
    """What was found in the folder does not make the run look faster."""
    progress = Progress(done=60, total=100, found=40, seconds=10, unit="rows")
    assert progress.rate == 2
    assert progress.time_left == 20
    assert str(progress) == (
        "60 of 100 rows (60.0 %), 2/s, 0:00:10 passed, 0:00:20 left"
    )


def test_no_time_is_promised_before_the_first_row():
    """Before anything is done there is no rate, and the time left is unknown."""
    progress = Progress(done=40, total=100, found=40, seconds=3)
    assert progress.rate == 0
    assert progress.time_left is None
    assert str(progress).endswith("? left")


def test_a_log_file_gets_few_lines():
    """Into a file the first and the last line are printed, not every row."""
    stream = io.StringIO()
    printer = ProgressPrinter(stream)
    for done in (*range(101), 100):  # a run says so when its last shard is written
        printer(Progress(done=done, total=100, found=0, seconds=done / 10))
    lines = stream.getvalue().splitlines()
    assert len(lines) == 2
    assert lines[1].startswith("100 of 100 instances (100.0 %)")


def test_a_terminal_gets_one_line_rewritten():
    """On a terminal the line is rewritten in place, with a line end after the last."""
    stream = io.StringIO()
    stream.isatty = lambda: True
    printer = ProgressPrinter(stream, interval=0)
    for done in (1, 2):
        printer(Progress(done=done, total=2, found=0, seconds=1))
    assert stream.getvalue().count("\r") == 2
    assert stream.getvalue().count("\n") == 1


def test_the_newest_line_waits_for_its_turn():
    """Lines that come too soon are dropped, but the last one is printed at the end."""
    stream = io.StringIO()
    printer = ProgressPrinter(stream)
    for line in "abc":
        printer.show(line)
    printer.end()
    printer.end()
    assert stream.getvalue() == "a\nc\n"


def test_a_rewritten_line_can_be_removed():
    """On a terminal the line makes room for what is printed next."""
    stream = io.StringIO()
    printer = ProgressPrinter(stream, in_place=True)
    printer.show("on the way")
    printer.clear()
    assert stream.getvalue() == "\r\x1b[Kon the way\r\x1b[K"
