"""What is read from pytest's report."""

from proofs.run_tests import outcomes

REPORT = """<testsuites><testsuite>
<testcase name="test_a[1]"><properties><property name="fields" value="3"/></properties></testcase>
<testcase name="test_a[2]"><properties><property name="fields" value="4"/></properties></testcase>
<testcase name="test_b[1]"/><testcase name="test_b[2]"><failure message="x"/></testcase><testcase name="test_b[3]"/>
<testcase name="test_c"><skipped/></testcase>
</testsuite></testsuites>"""


def test_a_test_has_passed_if_every_case_has_and_what_they_record_is_added_up() -> None:
    """What was skipped proves nothing."""
    expected = {"test_a": "passed", "test_a fields": 7.0, "test_b": "not passed", "test_c": "not passed"}
    assert expected == outcomes(REPORT)
