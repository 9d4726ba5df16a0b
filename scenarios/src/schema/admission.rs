//! Admission rules: which calibrated candidates become tasks.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use super::document::Tree;
use super::value::{Scalar, expected, scalars};

/// A band of pass rates: `3/8..5/8` (both ends inside), `0 < p <= 0.5`, `0.2 <= p`, `p = 0.5`.
///
/// Rates are compared as exact fractions, never as floating-point numbers.
///
/// ```
/// use tadpole_scenarios::schema::Admission;
/// let band: Admission = "3/8..5/8".parse()?;
/// assert!(band.admits(3, 8) && !band.admits(6, 8));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admission {
    low: Bound,
    high: Bound,
}

/// An end of a band: the fraction `over / under`, and whether it lies inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Bound {
    rate: Rate,
    inside: bool,
}

/// A fraction from 0 to 1 in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rate {
    over: u32,
    under: u32,
}

/// How far a pass rate lies from a band: an exact fraction, ordered.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    over: u64,
    under: u64,
}

impl Admission {
    /// The band from `low / 8` to `high / 8`, both inside.
    pub(crate) fn eighths(low: u32, high: u32) -> Self {
        let bound = |over| Bound { rate: Rate::reduced(over, 8), inside: true };
        Self { low: bound(low), high: bound(high) }
    }

    /// Whether `passed` of `sampled` lies in the band.
    pub fn admits(&self, passed: u32, sampled: u32) -> bool {
        self.side(passed, sampled) == Ordering::Equal
    }

    /// Where `passed` of `sampled` lies: `Less` below the band (too hard), `Equal` in it, `Greater` above it (too easy).
    /// No samples at all lie below every band.
    pub fn side(&self, passed: u32, sampled: u32) -> Ordering {
        let out = |order, bound: Bound| order == Ordering::Equal && !bound.inside;
        let low = self.low.rate.compared_with(passed, sampled);
        let high = self.high.rate.compared_with(passed, sampled);
        if sampled == 0 || low == Ordering::Less || out(low, self.low) {
            Ordering::Less
        } else if high == Ordering::Greater || out(high, self.high) {
            Ordering::Greater
        } else {
            Ordering::Equal
        }
    }

    /// How far `passed` of `sampled` lies from the band; zero in it and on its ends.
    pub fn distance(&self, passed: u32, sampled: u32) -> Distance {
        let (passed, sampled) = (u64::from(passed), u64::from(sampled.max(1)));
        let gap = |rate: Rate, below: bool| {
            let (ours, theirs) = (passed * u64::from(rate.under), u64::from(rate.over) * sampled);
            let over = if below { theirs.saturating_sub(ours) } else { ours.saturating_sub(theirs) };
            Distance { over, under: sampled * u64::from(rate.under) }
        };
        gap(self.low.rate, true).max(gap(self.high.rate, false))
    }

    /// The counts of passes out of `sampled` that the band admits.
    pub fn admitted(&self, sampled: u32) -> impl Iterator<Item = u32> {
        (0..=sampled).filter(move |&passed| self.admits(passed, sampled))
    }
}

impl PartialEq for Distance {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Distance {}

impl PartialOrd for Distance {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Distance {
    fn cmp(&self, other: &Self) -> Ordering {
        let product = |left: u64, right: u64| u128::from(left) * u128::from(right);
        product(self.over, other.under).cmp(&product(other.over, self.under))
    }
}

impl Rate {
    /// How `passed / sampled` compares with this rate.
    fn compared_with(self, passed: u32, sampled: u32) -> Ordering {
        (u64::from(passed) * u64::from(self.under)).cmp(&(u64::from(self.over) * u64::from(sampled)))
    }

    fn is_at_most(self, other: Self) -> bool {
        other.compared_with(self.over, self.under) != Ordering::Greater
    }

    fn new(over: u32, under: u32) -> Option<Self> {
        (under > 0 && over <= under).then(|| Self::reduced(over, under))
    }

    /// In lowest terms; `under` is not 0.
    fn reduced(over: u32, under: u32) -> Self {
        let (mut a, mut b) = (over, under);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        Self { over: over / a, under: under / a }
    }
}

impl FromStr for Rate {
    type Err = String;

    /// `3/8`, `0.375`, `1`.
    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let whole = |digits: &str| {
            let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            if plain { digits.parse::<u32>().ok() } else { None }
        };
        let rate = if let Some((over, under)) = text.split_once('/') {
            whole(over.trim()).zip(whole(under.trim())).and_then(|(over, under)| Self::new(over, under))
        } else if let Some((units, digits)) = text.split_once('.') {
            let scale = 10_u32.checked_pow(u32::try_from(digits.len()).unwrap_or(u32::MAX));
            let over = whole(units).zip(whole(digits)).zip(scale);
            over.and_then(|((units, part), scale)| {
                Self::new(units.checked_mul(scale)?.checked_add(part)?, scale)
            })
        } else {
            whole(text).and_then(|units| Self::new(units, 1))
        };
        rate.ok_or_else(|| format!("`{text}` is not a rate from 0 to 1, such as 3/8 or 0.5"))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.under == 1 { self.over.fmt(out) } else { write!(out, "{}/{}", self.over, self.under) }
    }
}

impl FromStr for Admission {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let band = parse_band(text)?;
        let (low, high) = (band.low, band.high);
        if low.rate == high.rate && !(low.inside && high.inside) || !low.rate.is_at_most(high.rate) {
            return Err(format!("`{text}` admits nothing: its lower end is not below its upper end"));
        }
        Ok(band)
    }
}

fn parse_band(text: &str) -> Result<Admission, String> {
    let inside = |rate| Bound { rate, inside: true };
    if let Some((low, high)) = text.split_once("..") {
        return Ok(Admission { low: inside(low.parse()?), high: inside(high.parse()?) });
    }
    let Some((before, after)) = text.split_once('p') else {
        return Err(format!("`{text}` is not an admission rule, such as 3/8..5/8, 0 < p <= 0.5 or p = 0.5"));
    };
    if before.trim().is_empty()
        && let Some(rate) = after.trim().strip_prefix('=')
    {
        let rate = inside(rate.trim_start_matches('=').parse()?);
        return Ok(Admission { low: rate, high: rate });
    }
    let (before, after) = (before.trim(), after.trim());
    let low = if before.is_empty() {
        inside(Rate { over: 0, under: 1 })
    } else {
        let (rate, closed) = match (before.strip_suffix("<="), before.strip_suffix('<')) {
            (Some(rate), _) => (rate, true),
            (None, Some(rate)) => (rate, false),
            (None, None) => return Err(format!("`{text}`: expected `<` or `<=` before `p`")),
        };
        Bound { rate: rate.parse()?, inside: closed }
    };
    let high = if after.is_empty() {
        inside(Rate { over: 1, under: 1 })
    } else {
        let (rate, closed) = match (after.strip_prefix("<="), after.strip_prefix('<')) {
            (Some(rate), _) => (rate, true),
            (None, Some(rate)) => (rate, false),
            (None, None) => return Err(format!("`{text}`: expected `<`, `<=` or `=` after `p`")),
        };
        Bound { rate: rate.parse()?, inside: closed }
    };
    if before.is_empty() && after.is_empty() {
        return Err(format!("`{text}` sets no bound; to admit everything write 0..1"));
    }
    Ok(Admission { low, high })
}

impl fmt::Display for Admission {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = (self.low, self.high);
        if low.inside && high.inside {
            if low.rate == high.rate {
                write!(out, "p = {}", low.rate)
            } else {
                write!(out, "{}..{}", low.rate, high.rate)
            }
        } else {
            let sign = |inside: bool| if inside { "<=" } else { "<" };
            write!(out, "{} {} p {} {}", low.rate, sign(low.inside), sign(high.inside), high.rate)
        }
    }
}

scalars!(Admission, LastAdmission);

impl Scalar for Admission {
    const KIND: &'static str = "an admission rule in a string";

    fn parse(tree: &Tree) -> Result<Self, String> {
        match tree {
            Tree::Text(text) => text.parse(),
            other => expected(Self::KIND, other),
        }
    }

    fn render(&self) -> String {
        format!("\"{self}\"")
    }

    fn choices() -> Option<String> {
        Some(CHOICES.into())
    }
}

const CHOICES: &str = r#"a band of pass rates such as "3/8..5/8", "0 < p <= 0.5", "0 < p < 1" or "p = 0.5""#;

/// The rule of the last iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastAdmission {
    /// The rule of the others.
    Same,
    /// This one.
    Rule(Admission),
}

impl Scalar for LastAdmission {
    const KIND: &'static str = "an admission rule in a string";

    fn parse(tree: &Tree) -> Result<Self, String> {
        match tree {
            Tree::Text(text) if text == "same" => Ok(Self::Same),
            other => Admission::parse(other).map(Self::Rule),
        }
    }

    fn render(&self) -> String {
        match self {
            Self::Same => "\"same\"".into(),
            Self::Rule(rule) => rule.render(),
        }
    }

    fn choices() -> Option<String> {
        Some(format!("\"same\", or {CHOICES}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn band(text: &str) -> Admission {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    fn admitted(text: &str) -> Vec<u32> {
        band(text).admitted(8).collect()
    }

    #[test]
    fn every_spelling_admits_what_it_says() {
        assert_eq!(admitted("3/8..5/8"), [3, 4, 5]);
        assert_eq!(admitted("0 < p <= 0.5"), [1, 2, 3, 4]);
        assert_eq!(admitted("0 < p < 1"), [1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(admitted("p = 0.5"), [4]);
        assert_eq!(admitted("p < 0.25"), [0, 1]);
        assert_eq!(admitted("0.375<=p"), [3, 4, 5, 6, 7, 8]);
        assert_eq!(admitted("0..1").len(), 9);
    }

    #[test]
    fn a_rule_reads_back_from_its_text() {
        for text in ["3/8..5/8", "0 < p <= 1/2", "0 < p < 1", "p = 1/2", "0 <= p < 1/4", "0..1"] {
            assert_eq!(band(text).to_string(), text);
        }
        assert_eq!(band("0.50..0.75"), band("2/4..3/4"));
    }

    #[test]
    fn what_is_no_rule_is_refused_with_a_reason() {
        for text in
            ["", "p", "half", "5/8..3/8", "0.5 < p < 0.5", "p > 0.5", "0..2", "-0.5..1", "1/0..1", "p = x"]
        {
            assert!(text.parse::<Admission>().is_err(), "{text}");
        }
    }

    #[test]
    fn sides_and_distances_follow_the_band() {
        let band = band("3/8..5/8");
        assert_eq!(band.side(2, 8), Ordering::Less);
        assert_eq!(band.side(2, 4), Ordering::Equal);
        assert_eq!(band.side(6, 8), Ordering::Greater);
        assert_eq!(band.side(0, 0), Ordering::Less);
        assert!(band.distance(2, 8) < band.distance(1, 8));
        assert_eq!(band.distance(6, 8), band.distance(2, 8));
        assert_eq!(band.distance(1, 4), band.distance(2, 8));
        assert_eq!(band.distance(4, 8), band.distance(3, 8));
    }
}
