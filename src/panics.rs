//! A panic of any task ends in a line of the log, or on standard error, that says what to do.

use std::io::{self, Write};
use std::panic::{self, PanicHookInfo};

use berth_rules::display::Lines;

/// Reports panics in words. With `RUST_BACKTRACE`, the standard report comes first.
///
/// The exit code of a process that a panic ends stays 101: 1 and 2 have meanings of their own.
pub(crate) fn report() {
    let standard = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        if std::env::var_os("RUST_BACKTRACE").is_some_and(|it| it != "0") {
            standard(info);
        }
        let words = words(info);
        if tracing::dispatcher::has_been_set() {
            tracing::error!("{words}");
        } else {
            // An error of standard error is ignored: the exit code has to do.
            let _ = writeln!(io::stderr(), "Error: {}", Lines(&words));
        }
    }));
}

fn words(info: &PanicHookInfo<'_>) -> String {
    let place = info
        .location()
        .map_or_else(String::new, |it| format!(" at {it}"));
    let why = info.payload_as_str().unwrap_or("no message");
    format!(
        "a fault in Berth itself{place}: {why}; please report this line with the version of Berth, and run it again with \
         RUST_BACKTRACE=1 if you can"
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    static SAID: Mutex<Vec<String>> = Mutex::new(Vec::new());

    #[test]
    fn a_panic_is_reported_with_its_place_its_message_and_what_to_do() {
        let standard = panic::take_hook();
        panic::set_hook(Box::new(|info| SAID.lock().unwrap().push(words(info))));
        let ended = std::thread::spawn(|| panic!("{} is odd", 3)).join();
        panic::set_hook(standard);
        assert!(ended.is_err());
        let said = SAID.lock().unwrap();
        let is_ours = |it: &&String| it.contains("3 is odd");
        let words = said.iter().find(is_ours).unwrap();
        assert!(
            words.starts_with("a fault in Berth itself at src/panics.rs:"),
            "{words}"
        );
        assert!(words.contains("please report this line"), "{words}");
    }
}
