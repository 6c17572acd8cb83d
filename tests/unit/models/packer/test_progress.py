"""Lines about progress: few, and true."""

from kubedl.models.packer.progress import Progress


def test_lines_say_how_much_is_there_and_are_few() -> None:
    moment = [0.0]
    lines: list[str] = []
    progress = Progress(100, lines.append, lambda: moment[0])
    progress.hashed("'a'")
    progress.sent(0, 10, "'a'")  # too soon after the last
    moment[0] = 2.5
    progress.sent(0, 30, "'a'")
    progress.sent(0, 50, "'a'")
    progress.present("'a'", reused=False)
    progress.sent(1, 50, "'b'")
    progress.present("'b'", reused=True)
    assert lines == [
        "progress 0/100 reading 'a'",
        "progress 30/100 sending 'a'",
        "progress 50/100 sent 'a'",
        "progress 100/100 found 'b'",
    ]


def test_what_has_to_be_sent_again_is_taken_back() -> None:
    lines: list[str] = []
    progress = Progress(100, lines.append)
    progress.sent(0, 60, "'a'")
    progress.sent(0, 20, "'a'")
    progress.note("so far")
    assert lines[-1] == "progress 20/100 so far"
