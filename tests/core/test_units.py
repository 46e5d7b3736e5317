"""Human units, in both directions."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wasm_kernel.core.units import (
    format_bytes,
    format_count,
    format_seconds,
    parse_bytes,
    parse_fuel,
    parse_seconds,
    write_bytes,
    write_fuel,
    write_seconds,
)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("64000000", 64_000_000),
        ("64_000_000", 64_000_000),
        ("5B", 5),
        ("1kB", 1000),
        ("512MB", 512_000_000),
        ("512 mb", 512_000_000),
        (" 1GiB ", 2**30),
        ("1.5Gi", 3 * 2**29),
        ("2T", 2 * 10**12),
    ],
)
def test_sizes_are_read_in_decimal_and_binary_units(text: str, number: int) -> None:
    assert parse_bytes(text) == number


@pytest.mark.parametrize(
    ("text", "number"),
    [("5G", 5 * 10**9), ("200M", 200_000_000), ("2_000_000_000", 2 * 10**9), ("1.5k", 1500)],
)
def test_fuel_is_read(text: str, number: int) -> None:
    assert parse_fuel(text) == number


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("30s", 30), ("1.5m", 90), ("250ms", 0.25), ("2min", 120), ("1h", 3600), ("7", 7)],
)
def test_times_are_read(text: str, seconds: float) -> None:
    assert parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "MB", "-5MB", "5XB", "1e3", "5 M B", "_5", "inf", "nan"])
def test_what_is_no_size_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size such as 512MB or 1GiB"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["", "5GB", "fast", "-1"])
def test_what_is_no_fuel_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not an amount of fuel such as 5G or 200M"):
        parse_fuel(text)


@pytest.mark.parametrize("text", ["", "5d", "s", "-1s", "1:30"])
def test_what_is_no_time_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not a time such as 30s, 250ms or 2m"):
        parse_seconds(text)


@given(st.integers(0, 2**62))
def test_plain_numbers_are_read_exactly(number: int) -> None:
    assert parse_bytes(str(number)) == number
    assert parse_fuel(f"{number:_}") == number


@given(st.text(max_size=12))
def test_any_text_is_read_or_refused_with_value_error(text: str) -> None:
    for parse in (parse_bytes, parse_fuel, parse_seconds):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert repr(text) in str(error)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (999, "999"),
        (1000, "1 k"),
        (1_816_000, "1.82 M"),
        (2_000_000_000, "2 G"),
        (5 * 10**12, "5 T"),
    ],
)
def test_counts_have_three_significant_digits(number: int, text: str) -> None:
    assert format_count(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (63_200_000, "63.2 MB")]
)
def test_sizes_are_shown_in_decimal_units(number: int, text: str) -> None:
    assert format_bytes(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0014, "1.4 ms"),
        (0.3, "300 ms"),
        (0.9999, "1 s"),
        (2.349, "2.35 s"),
        (60, "1 min 0 s"),
        (200, "3 min 20 s"),
    ],
)
def test_times_are_shown_in_a_fitting_unit(seconds: float, text: str) -> None:
    assert format_seconds(seconds) == text


@given(st.integers(0, 10**15 - 10**12))
def test_no_count_is_shown_with_an_exponent(number: int) -> None:
    assert "e" not in format_count(number)


@pytest.mark.parametrize("number", [999_499, 999_500, 999_999, 999_999_999])
def test_count_just_below_a_unit_is_rounded_up_to_it(number: int) -> None:
    assert "e" not in format_count(number)
    assert "e" not in format_bytes(number)


@given(st.integers(1, 10**14))
def test_what_is_shown_can_be_read_again_to_three_digits(number: int) -> None:
    assert parse_bytes(format_bytes(number)) == pytest.approx(number, rel=0.006)


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (write_bytes(2**30), "1GiB"),
        (write_bytes(10_000_000), "10MB"),
        (write_bytes(1001), "1001B"),
        (write_bytes(0), "0"),
        (write_fuel(5 * 10**9), "5G"),
        (write_fuel(1000), "1000"),
        (write_seconds(30), "30s"),
        (write_seconds(0.25), "250ms"),
    ],
)
def test_limits_are_written_as_they_are_typed(written: str, text: str) -> None:
    assert written == text


@given(st.integers(0, 10**15))
def test_what_is_written_is_read_again_exactly(number: int) -> None:
    assert parse_bytes(write_bytes(number)) == number
    assert parse_fuel(write_fuel(number)) == number
    assert parse_seconds(write_seconds(number / 1000)) == pytest.approx(number / 1000)
