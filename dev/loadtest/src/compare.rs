//! Compares two targets: alternating runs, medians, ratios.
//!
//! Other load of the machine affects every figure, but consecutive runs in the same way. So the targets take turns, the first target
//! changes with each round, and the report shows the median of the rounds.

use std::fmt;

use serde::Serialize;

use crate::report::{Report, mib};
use crate::text::three_digits;

/// The comparison of two targets.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    names: [String; 2],
    rounds: usize,
    figures: Vec<Figure>,
    /// Failed calls of all rounds.
    failures: [u64; 2],
    /// The runs of the first and of the second target.
    runs: [Vec<Report>; 2],
}

/// One figure of both targets.
#[derive(Debug, PartialEq, Serialize)]
struct Figure {
    figure: &'static str,
    /// Medians; `None` if a target's process is not known.
    medians: [Option<f64>; 2],
    /// The first divided by the second.
    ratio: Option<f64>,
    better: Better,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Better {
    Higher,
    Lower,
}

/// Returns the order of the targets in a round (counted from 0).
pub(crate) fn order(round: usize) -> [usize; 2] {
    [[0, 1], [1, 0]][round % 2]
}

type Read = fn(&Report) -> Option<f64>;

const FIGURES: [(&str, Better, Read); 8] = [
    ("reviews per second", Better::Higher, |run| {
        Some(run.calls_per_second)
    }),
    ("reviews per CPU second", Better::Higher, |run| {
        run.server.as_ref()?.calls_per_cpu_second
    }),
    ("latency p50, ms", Better::Lower, |run| {
        Some(run.latency_ms.p50)
    }),
    ("latency p90, ms", Better::Lower, |run| {
        Some(run.latency_ms.p90)
    }),
    ("latency p99, ms", Better::Lower, |run| {
        Some(run.latency_ms.p99)
    }),
    ("latency p99.9, ms", Better::Lower, |run| {
        Some(run.latency_ms.p99_9)
    }),
    ("resident after, MiB", Better::Lower, |run| {
        Some(mib(run.server.as_ref()?.memory_kib.after))
    }),
    ("resident at most, MiB", Better::Lower, |run| {
        Some(mib(run.server.as_ref()?.memory_kib.peak))
    }),
];

// === impl Comparison ===

impl Comparison {
    /// Compares the runs of two targets.
    pub(crate) fn new(names: [String; 2], runs: [Vec<Report>; 2]) -> Self {
        let figure = |(figure, better, read): (&'static str, Better, Read)| {
            let medians = runs.each_ref().map(|runs| {
                let read: Option<Vec<f64>> = runs.iter().map(read).collect();
                median(read?)
            });
            let ratio = match medians {
                [Some(first), Some(second)] if second > 0.0 => Some(first / second),
                _ => None,
            };
            Figure {
                figure,
                medians,
                ratio,
                better,
            }
        };
        Self {
            rounds: runs[0].len(),
            figures: FIGURES.map(figure).into(),
            failures: runs
                .each_ref()
                .map(|runs| runs.iter().map(Report::failed).sum()),
            names,
            runs,
        }
    }

    /// Returns whether all calls of all runs succeeded.
    pub(crate) fn is_clean(&self) -> bool {
        let mut runs = self.runs.iter().flatten();
        self.rounds > 0 && runs.all(Report::is_clean)
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        1 => values.get(middle).copied(),
        _ => Some(
            values
                .get(..=middle)?
                .last_chunk::<2>()?
                .iter()
                .sum::<f64>()
                / 2.0,
        ),
    }
}

impl fmt::Display for Comparison {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [first, second] = &self.names;
        let width = |name: &str| name.chars().count().max(10) + 2;
        let (one, two) = (width(first), width(second));
        writeln!(f, "{:<24}{first:>one$}{second:>two$}{:>12}", "", "ratio")?;
        for Figure {
            figure,
            medians,
            ratio,
            better,
        } in &self.figures
        {
            let number = |number: &Option<f64>| number.map_or("-".into(), three_digits);
            let [a, b] = medians.each_ref().map(number);
            write!(f, "{figure:<24}{a:>one$}{b:>two$}{:>12}", number(ratio))?;
            let better = match (better, ratio) {
                (_, None) => "",
                (Better::Higher, _) => "  (more is better)",
                (Better::Lower, _) => "  (less is better)",
            };
            writeln!(f, "{better}")?;
        }
        let [a, b] = self.failures;
        writeln!(f, "{:<24}{a:>one$}{b:>two$}", "failed calls")?;
        let rounds = self.rounds;
        write!(
            f,
            "Medians of {rounds} alternating rounds; the ratio is {first} divided by {second}."
        )?;
        for run in self.runs.iter().flatten() {
            for line in run.failures() {
                write!(f, "\n  {}: {line}", run.name())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::check::{Fault, Faults};
    use crate::report::{Call, Plan, ServerUsage, Usage};
    use crate::worker::{Count, Tally};

    fn run(name: &str, reviews: u64, latency: u64, cpu: Option<u64>) -> Report {
        let mut count = Count::default();
        count.latencies.record(Duration::from_millis(latency));
        let tally = Tally {
            counts: vec![count],
            reconnects: 0,
            faults: Faults::default(),
        };
        let usage = Usage {
            calls: reviews,
            elapsed: Duration::from_secs(1),
            client_cpu: Duration::from_secs(1),
            server: cpu.map(|millis| ServerUsage {
                pid: 7,
                cpu: Duration::from_millis(millis),
                before_kib: 1024,
                after_kib: 2048,
                peak_kib: 4096,
            }),
            rate: None,
            interrupted: false,
        };
        let plan = Plan {
            name: name.into(),
            target: "https://h/".into(),
            sent: String::new(),
            connections: 1,
            call: Call::Review,
            labels: vec!["update".into()],
            title: String::new(),
        };
        Report::new(plan, tally, &usage)
    }

    #[test]
    fn a_median_is_the_middle_or_between_the_two_that_are() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![7.0]), Some(7.0));
        assert_eq!(median(Vec::new()), None);
    }

    #[test]
    fn the_first_to_be_measured_changes_with_each_round() {
        assert_eq!([0, 1, 2].map(order), [[0, 1], [1, 0], [0, 1]]);
    }

    #[test]
    fn ratios_are_of_medians_and_an_outlier_does_not_show() {
        let runs = [
            vec![
                run("berth", 900, 1, Some(100)),
                run("berth", 1000, 2, Some(100)),
                run("berth", 50, 900, Some(100)),
            ],
            vec![
                run("ocm", 100, 10, Some(500)),
                run("ocm", 90, 10, Some(500)),
                run("ocm", 110, 10, Some(500)),
            ],
        ];
        let comparison = Comparison::new(["berth".into(), "ocm".into()], runs);
        assert!(comparison.is_clean());
        let json = serde_json::to_value(&comparison).unwrap();
        let figure = |name: &str| {
            let figures = json["figures"].as_array().unwrap();
            figures
                .iter()
                .find(|each| each["figure"] == name)
                .unwrap()
                .clone()
        };
        assert_eq!(figure("reviews per second")["ratio"], 9.0);
        assert_eq!(
            figure("reviews per CPU second")["medians"],
            serde_json::json!([9000.0, 200.0])
        );
        assert_eq!(figure("latency p99, ms")["ratio"], 0.2);
        assert_eq!(figure("resident at most, MiB")["medians"][0], 4.0);
        let text = comparison.to_string();
        for part in [
            "reviews per second               900         100        9.00  (more is better)\n",
            "failed calls                       0           0\n",
            "Medians of 3 alternating rounds; the ratio is berth divided by ocm.",
        ] {
            assert!(text.contains(part), "{part}:\n{text}");
        }
    }

    #[test]
    fn without_a_process_there_is_no_figure_of_it_and_a_failure_is_told() {
        let mut failed = Tally {
            counts: vec![Count::default()],
            ..Tally::default()
        };
        failed.faults.add(Fault::Timeout, "no response".into());
        let usage = Usage {
            calls: 0,
            elapsed: Duration::from_secs(1),
            client_cpu: Duration::ZERO,
            server: None,
            rate: None,
            interrupted: false,
        };
        let plan = Plan {
            name: "b".into(),
            target: "https://h/".into(),
            sent: String::new(),
            connections: 1,
            call: Call::Review,
            labels: vec!["update".into()],
            title: String::new(),
        };
        let runs = [
            vec![run("a", 100, 1, Some(10))],
            vec![Report::new(plan, failed, &usage)],
        ];
        let comparison = Comparison::new(["a".into(), "b".into()], runs);
        assert!(!comparison.is_clean());
        let text = comparison.to_string();
        assert!(
            text.contains("b: 1 timed out; the first: no response"),
            "{text}"
        );
        let figure = &comparison.figures[1];
        assert_eq!((figure.medians[1], figure.ratio), (None, None));
    }
}
