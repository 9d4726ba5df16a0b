//! Numbers as people read them.

use std::time::Duration;

/// `41.2%`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1}%", share * 100.0)
}

/// `+12.9`, in points of percent.
pub(crate) fn points(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

/// `1 step`, `2 steps`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

/// Every line two columns to the right; what follows is a line of its own.
pub(crate) fn indented(text: &str) -> String {
    text.lines().map(|line| if line.is_empty() { "\n".to_owned() } else { format!("  {line}\n") }).collect()
}

/// `950`, `3.1k`, `2.4M`.
pub(crate) fn quantity(number: f64) -> String {
    match number {
        n if n < 999.5 => format!("{n:.0}"),
        n if n < 999_500.0 => format!("{:.1}k", n / 1e3),
        n => format!("{:.1}M", n / 1e6),
    }
}

/// `42s`, `4m10s`, `1h05m`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3_600, seconds / 60 % 60),
    }
}

/// A bar for each count, the tallest for the largest: ` ▁▂▃▄▅▆▇█`. A count above 0 is never blank.
pub(crate) fn sparkline(counts: &[u64]) -> String {
    const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    counts.iter().map(|&count| BARS[(count * 8).div_ceil(most) as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        assert_eq!(percent(0.4123), "41.2%");
        assert_eq!(
            (points(0.129), points(-0.01), points(0.0)),
            ("+12.9".into(), "-1.0".into(), "+0.0".into())
        );
        assert_eq!((counted(1, "step"), counted(0, "step")), ("1 step".into(), "0 steps".into()));
        let quantities: Vec<String> = [0.0, 999.0, 999.9, 3_120.0, 2_400_000.0].map(quantity).to_vec();
        assert_eq!(quantities, ["0", "999", "1.0k", "3.1k", "2.4M"]);
        let durations: Vec<String> =
            [0_u64, 59, 60, 250, 3_900].map(|seconds| duration(Duration::from_secs(seconds))).to_vec();
        assert_eq!(durations, ["0s", "59s", "1m00s", "4m10s", "1h05m"]);
    }

    #[test]
    fn a_sparkline_shows_whatever_is_not_zero() {
        assert_eq!(sparkline(&[100, 0, 1, 50]), "█ ▁▄");
        assert_eq!(sparkline(&[0, 0]), "  ");
        assert_eq!(sparkline(&[]), "");
    }
}
