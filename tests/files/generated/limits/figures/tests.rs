use super::{names, of};

#[test]
fn figures_are_read_and_shown() {
    const SOURCE: &str = "\
pub(crate) const SIZE: usize = 4 << 20;
const SUM: usize = 2 * SIZE + 64 * 1024;
const NAME: usize = 63 - \"addon-\".len();
const TWICE: u64 = 2 * other::LONG;
const WAIT: Duration = Duration::from_secs(24 * 3600);
const PAUSES: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_secs(60));
#[cfg(test)]
const FEW: usize = 1;
#[cfg(not(test))]
const FEW: usize = 1_000;
const LIMIT: usize = if cfg!(all(test, debug_assertions)) {
    3
} else {
    512
};
const CIRCLE: usize = CIRCLE + 1;
        bytes: usize,
        bytes: 32 * 1024,
";
    let shown = |name: &str, is_bytes| {
        of(SOURCE, name, Some("const LONG: u64 = 7;")).map(|it| it.shown(is_bytes))
    };
    for (name, is_bytes, expected) in [
        ("SIZE", true, "4 MiB"),
        ("SIZE", false, "4,194,304"),
        ("SUM", true, "8,256 KiB"),
        ("NAME", true, "57"),
        ("TWICE", false, "14"),
        ("WAIT", false, "24 h"),
        ("PAUSES", false, "500 ms to 60 s"),
        ("FEW", false, "1,000"),
        ("LIMIT", true, "512"),
        ("bytes", true, "32 KiB"),
    ] {
        assert_eq!(shown(name, is_bytes).as_deref(), Ok(expected), "{name}");
    }
    assert!(shown("GONE", false).is_err());
    assert!(shown("CIRCLE", false).is_err());
    let all = [
        "SIZE", "SUM", "NAME", "TWICE", "WAIT", "PAUSES", "FEW", "LIMIT", "CIRCLE",
    ];
    assert_eq!(names(SOURCE), all);
}
