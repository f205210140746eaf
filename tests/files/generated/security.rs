//! Every test that SECURITY.md names exists.

use std::fs;
use std::path::Path;

#[test]
fn every_test_that_security_md_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let page = fs::read_to_string(root.join("SECURITY.md")).expect("there is one");
    let mut named = 0;
    for row in page.lines().filter(|line| line.starts_with("| ")) {
        let words = row.split('`').skip(1).step_by(2);
        for test in words.filter(|word| word.contains("::")) {
            let Some((file, name)) = test.rsplit_once("::") else {
                panic!("{test} is not suite::file::name")
            };
            let path = root.join(format!("tests/{}.rs", file.replace("::", "/")));
            let source = fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{test}: {}: {error}", path.display()));
            assert!(
                source.contains(&format!("fn {name}(")),
                "no such test: {test}"
            );
            named += 1;
        }
    }
    assert!(named > 20, "{named}");
    // Each promise has at least one.
    for row in page.lines().filter(|line| line.matches('|').count() == 5) {
        let last = row.rsplit('|').nth(1).expect("a column");
        let is_head = last.contains("---") || last.trim() == "Shown by";
        assert!(is_head || last.contains("::"), "no test: {row}");
    }
}
