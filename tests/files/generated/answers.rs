//! The page's types of the console's answers.

use super::assert_generated;

#[test]
fn the_types_of_the_page_are_those_of_the_answers() {
    assert_generated(
        "console/web/src/answers.ts",
        &berth_console::answers::typescript(),
    );
}
