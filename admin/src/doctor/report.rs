//! The report: blocks of text, JSON or YAML.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::finding::{Check, Finding, Severity};

/// Upper bound on the findings of one check in the text; further findings are counted. JSON and YAML contain all.
const SHOWN: usize = 10;

/// The result of a check: that of its worst finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CheckResult {
    /// Nothing was found, or only what is no problem.
    Passed,
    /// A part of the hub does not work, or is not protected.
    Fault,
    /// A part of the hub will stop working soon, waits for an admin, or differs from what ships.
    Warning,
    /// The check could not run.
    Unknown,
    /// The check does not apply here.
    Skipped,
}

#[derive(Serialize)]
struct Checked {
    id: Check,
    title: &'static str,
    result: CheckResult,
}

/// The whole report.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    checks: Vec<Checked>,
    findings: &'a [Finding],
}

/// The style of the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Style {
    pub(super) colours: bool,
    /// Also print passed and skipped checks, and notes.
    pub(super) verbose: bool,
}

// === impl Report ===

impl<'a> Report<'a> {
    /// Creates the report. Findings must be sorted by severity.
    pub(super) fn new(findings: &'a [Finding]) -> Self {
        let checks = Check::ALL
            .into_iter()
            .map(|check| Checked {
                id: check,
                title: check.title(),
                result: worst(findings, check),
            })
            .collect();
        Self { checks, findings }
    }

    /// Returns true if no finding is a fault. With `strict`, warnings and checks that could not run count, too.
    pub(super) fn is_sound(&self, strict: bool) -> bool {
        let bad = |severity| match severity {
            Severity::Fault => true,
            Severity::Warning | Severity::Unknown => strict,
            Severity::Skipped | Severity::Note => false,
        };
        !self.findings.iter().any(|finding| bad(finding.severity))
    }

    pub(super) fn json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    pub(super) fn yaml(&self, out: &mut impl Write) -> io::Result<()> {
        let text = serde_saphyr::to_string(self).map_err(io::Error::other)?;
        out.write_all(text.as_bytes())
    }

    /// Writes a block for each finding, and with `verbose` a line for each passed check.
    pub(super) fn text(&self, out: &mut impl Write, style: Style) -> io::Result<()> {
        let mut shown: BTreeMap<(Severity, Check), usize> = BTreeMap::new();
        for (index, finding) in self.findings.iter().enumerate() {
            if finding.severity >= Severity::Skipped && !style.verbose {
                continue;
            }
            let key = (finding.severity, finding.check);
            let before = shown.entry(key).or_default();
            *before += 1;
            if *before <= SHOWN {
                block(out, finding, style)?;
            }
            let is_last = self
                .findings
                .get(index + 1)
                .is_none_or(|next| (next.severity, next.check) != key);
            if is_last && *before > SHOWN {
                let (severity, check) = (label(finding.severity), finding.check.id());
                let more = *before - SHOWN;
                writeln!(
                    out,
                    "{severity} {check}: and {more} more; -o json prints all"
                )?;
            }
        }
        if style.verbose {
            let passed = self
                .checks
                .iter()
                .filter(|it| it.result == CheckResult::Passed);
            for check in passed {
                let label = coloured("ok", "32", style);
                writeln!(out, "{label} {}: {}", check.id.id(), check.title)?;
            }
        }
        Ok(())
    }

    /// Returns the numbers of findings, as one line.
    pub(super) fn summary(&self) -> String {
        let count = |severity| {
            let of = |finding: &&Finding| finding.severity == severity;
            self.findings.iter().filter(of).count()
        };
        let of = |count: usize, one: &str| match count {
            1 => format!("1 {one}"),
            count => format!("{count} {one}s"),
        };
        let (faults, warnings) = (count(Severity::Fault), count(Severity::Warning));
        let open = match count(Severity::Unknown) {
            0 => String::new(),
            open => format!(", {open} not checked"),
        };
        match (faults, warnings) {
            (0, 0) if open.is_empty() => {
                format!("{} checks, no problems found.", self.checks.len())
            }
            _ => format!(
                "{}, {}{open}.",
                of(faults, "fault"),
                of(warnings, "warning")
            ),
        }
    }
}

/// Returns the result of a check.
pub(crate) fn worst(findings: &[Finding], check: Check) -> CheckResult {
    let of_check = findings.iter().filter(|finding| finding.check == check);
    match of_check.map(|finding| finding.severity).min() {
        None | Some(Severity::Note) => CheckResult::Passed,
        Some(Severity::Fault) => CheckResult::Fault,
        Some(Severity::Warning) => CheckResult::Warning,
        Some(Severity::Unknown) => CheckResult::Unknown,
        Some(Severity::Skipped) => CheckResult::Skipped,
    }
}

fn label(severity: Severity) -> &'static str {
    match severity {
        Severity::Fault => "FAULT",
        Severity::Warning => "WARNING",
        Severity::Unknown => "UNKNOWN",
        Severity::Skipped => "SKIPPED",
        Severity::Note => "NOTE",
    }
}

fn coloured(text: &str, colour: &str, style: Style) -> String {
    if style.colours {
        format!("\u{1b}[{colour}m{text}\u{1b}[0m")
    } else {
        text.to_owned()
    }
}

fn block(out: &mut impl Write, finding: &Finding, style: Style) -> io::Result<()> {
    let colour = match finding.severity {
        Severity::Fault => "1;31",
        Severity::Warning => "33",
        Severity::Unknown => "35",
        Severity::Skipped | Severity::Note => "2",
    };
    let label = coloured(label(finding.severity), colour, style);
    let object = match &finding.object {
        Some(object) => format!(" {}", harmless(&object.to_string())),
        None => String::new(),
    };
    writeln!(out, "{label} {}:{object}", finding.check.id())?;
    writeln!(out, "  {}", harmless(&finding.message))?;
    if let Some(remedy) = &finding.remedy {
        writeln!(out, "  Remedy: {}", harmless(remedy))?;
    }
    Ok(())
}

/// Replaces control characters, so that the text is one line and safe for a terminal.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| {
            if berth_rules::display::is_plain(c) {
                c
            } else {
                '?'
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::FindingObject;

    const PLAIN: Style = Style {
        colours: false,
        verbose: false,
    };

    fn text(findings: &[Finding], style: Style) -> String {
        let mut out = Vec::new();
        Report::new(findings).text(&mut out, style).unwrap();
        String::from_utf8(out).unwrap()
    }

    fn findings() -> Vec<Finding> {
        let object = FindingObject::within("service", "ns", "a\u{1b}[31m\nb");
        vec![
            Check::WebhookService
                .fault("no endpoint is ready")
                .of(object)
                .remedy("kubectl get pods"),
            Check::Clock.warning("the clock is late"),
            Check::Crds.note("a newer one"),
        ]
    }

    #[test]
    fn a_finding_is_a_block_that_no_terminal_obeys() {
        let expected = "FAULT webhook-service: service/a?[31m?b in ns\n  no endpoint is ready\n  Remedy: kubectl get pods\n\
                        WARNING clock:\n  the clock is late\n";
        assert_eq!(text(&findings(), PLAIN), expected);
    }

    #[test]
    fn verbosity_adds_notes_and_what_is_in_order() {
        let verbose = Style {
            verbose: true,
            ..PLAIN
        };
        let text = text(&findings(), verbose);
        assert!(text.contains("NOTE crds:\n  a newer one\n"), "{text}");
        assert!(text.contains("ok crds: the CRDs exist"), "{text}");
        assert!(!text.contains("ok clock"), "{text}");
        assert_eq!(text.matches("\nok ").count(), Check::ALL.len() - 2);
    }

    #[test]
    fn colours_are_for_the_first_word() {
        let coloured = Style {
            colours: true,
            ..PLAIN
        };
        let text = text(&findings(), coloured);
        assert!(text.starts_with("\u{1b}[1;31mFAULT\u{1b}[0m webhook-service:"));
    }

    #[test]
    fn many_findings_of_a_check_are_counted() {
        let many: Vec<_> = (0..13)
            .map(|number| Check::PendingClusters.warning(format!("it waits {number}")))
            .chain([Check::UnknownClusters.warning("silent")])
            .collect();
        let text = text(&many, PLAIN);
        assert_eq!(text.matches("it waits").count(), 10);
        let more =
            "WARNING pending-clusters: and 3 more; -o json prints all\nWARNING unknown-clusters:";
        assert!(text.contains(more), "{text}");
    }

    #[test]
    fn faults_make_it_unsound_and_warnings_only_to_the_strict() {
        let sound = |findings: &[Finding], strict| Report::new(findings).is_sound(strict);
        assert!(sound(&[], true));
        let all = findings();
        assert!(!sound(&all, false));
        assert!(sound(&all[1..], false));
        assert!(!sound(&all[1..], true));
        assert!(sound(&all[2..], true));
        assert_eq!(Report::new(&all).summary(), "1 fault, 1 warning.");
        assert_eq!(Report::new(&[]).summary(), "22 checks, no problems found.");
    }

    #[test]
    fn programs_get_every_check_and_every_finding() {
        let all = findings();
        let value = serde_json::to_value(Report::new(&all)).unwrap();
        let checks = value["checks"].as_array().unwrap();
        assert_eq!(checks.len(), Check::ALL.len());
        for (check, told) in Check::ALL.iter().zip(checks) {
            assert_eq!(told["id"], check.id());
        }
        assert_eq!(checks[0]["result"], "passed");
        assert_eq!(
            value["findings"][0],
            serde_json::json!({
                "check": "webhook-service",
                "severity": "fault",
                "object": {"kind": "service", "namespace": "ns", "name": "a\u{1b}[31m\nb"},
                "message": "no endpoint is ready",
                "remedy": "kubectl get pods",
            })
        );
        assert_eq!(value["findings"][1]["object"], serde_json::Value::Null);
    }
}
