//! A decision as text: the outcome, the user, the object, the questions, and the evidence of the answers.

use std::fmt::{self, Display, Formatter};

use berth_review::Verdict;
use berth_rules::display::{InNamespace, Lines, ObjectOrAll, Quoted};
use berth_rules::{Answer, Namespace, Permission, Question};

use super::chain::Chain;
use crate::print::Style;

/// A decision, for display.
pub(super) struct Text<'c> {
    pub(super) chain: &'c Chain,
    pub(super) style: Style,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let last = self.chain.last();
        let style = self.style;
        match self.chain.outcome() {
            "allowed" => write!(f, "{}", style.green("ALLOWED"))?,
            "undecided" => write!(f, "{}", style.yellow("UNDECIDED"))?,
            "undecodable" => write!(f, "{}", style.yellow("UNREADABLE"))?,
            "malformed" => write!(f, "{} (400 BadRequest)", style.red("REFUSED"))?,
            _ => write!(f, "{} (403 Forbidden)", style.red("DENIED"))?,
        }
        if let Some(subject) = &last.subject {
            let (operation, kind, name) = (
                subject.operation.as_str(),
                subject.webhook.kind(),
                subject.name.as_str(),
            );
            write!(f, "  {operation} {kind} {}", Quoted(name))?;
            if !subject.namespace.is_empty() {
                write!(f, " in namespace {}", Quoted(subject.namespace.as_str()))?;
            }
            write!(f, "\n  by user {}", Quoted(subject.user.as_str()))?;
            if !self.chain.groups.is_empty() {
                write!(f, ", in groups {}", groups(&self.chain.groups))?;
            }
        }
        writeln!(f)?;
        section(f, "why", last.message().lines().map(str::to_owned))?;
        section(
            f,
            "asked",
            self.chain
                .steps
                .iter()
                .flat_map(asked)
                .fold(Vec::new(), without_repetition),
        )?;
        section(
            f,
            "changed by the gate",
            self.chain.steps.iter().flat_map(patch),
        )?;
        section(f, "warnings", self.chain.steps.iter().flat_map(warnings))
    }
}

fn groups(groups: &[String]) -> String {
    let quoted: Vec<_> = groups
        .iter()
        .map(|group| Quoted(group).to_string())
        .collect();
    quoted.join(", ")
}

fn section(
    f: &mut Formatter<'_>,
    title: &str,
    lines: impl IntoIterator<Item = String>,
) -> fmt::Result {
    let mut lines = lines.into_iter().peekable();
    if lines.peek().is_some() {
        writeln!(f, "\n  {title}:")?;
    }
    lines.try_for_each(|line| writeln!(f, "    {}", Lines(&line)))
}

/// Returns the questions of a verdict, each with its answer and the evidence.
fn asked(verdict: &Verdict<'_>) -> Vec<String> {
    let user = verdict
        .subject
        .as_ref()
        .map_or("", |subject| subject.user.as_str());
    verdict
        .answers
        .iter()
        .zip(&verdict.evidence)
        .map(|((question, answer), evidence)| {
            let answer = match answer {
                Answer::Yes => "yes".to_owned(),
                Answer::No if matches!(question, Question::BindingsIn { .. }) => "none".to_owned(),
                Answer::No => "no".to_owned(),
                Answer::Names(names) => names.join(", "),
                Answer::Namespace(Namespace {
                    terminating,
                    of_cluster,
                }) => match (terminating, of_cluster) {
                    (true, _) => "yes, and it is terminating".to_owned(),
                    (false, true) => "yes, and it is the cluster's".to_owned(),
                    (false, false) => "yes".to_owned(),
                },
                Answer::Unknown(why) => format!("not known: {why}"),
            };
            let because = evidence
                .because
                .as_ref()
                .map(|because| format!("\n      {because}"))
                .unwrap_or_default();
            format!("{} {answer}{because}", in_words(user, question))
        })
        .collect()
}

fn in_words(user: &str, question: &Question) -> String {
    let name = ObjectOrAll(question.object());
    match question {
        Question::Permission(Permission {
            verbs,
            group,
            resource,
            subresource,
            namespace,
            ..
        }) => {
            let verbs = verbs.join(" or ");
            let namespace = InNamespace(namespace.as_deref());
            format!(
                "may {} {verbs} {resource}/{subresource}.{group} {name}{namespace}?",
                Quoted(user)
            )
        }
        Question::Namespace { .. } => format!("is there a namespace {name}?"),
        Question::BindingsIn { .. } => {
            format!("which ManagedClusterSetBindings does namespace {name} hold?")
        }
        Question::AcceptedCluster { .. } => format!("is there an accepted ManagedCluster {name}?"),
        Question::SetExists { .. } => format!("is there a ManagedClusterSet {name}?"),
        Question::InGroup { .. } => format!("is {} in group {name}?", Quoted(user)),
    }
}

fn without_repetition(mut lines: Vec<String>, more: String) -> Vec<String> {
    if !lines.contains(&more) {
        lines.push(more);
    }
    lines
}

fn patch(verdict: &Verdict<'_>) -> Vec<String> {
    let decision = verdict.result.as_ref().ok();
    decision
        .into_iter()
        .flat_map(|decision| &decision.patch.0)
        .map(ToString::to_string)
        .collect()
}

fn warnings(verdict: &Verdict<'_>) -> Vec<String> {
    verdict
        .result
        .as_ref()
        .map(|decision| decision.warnings.clone())
        .unwrap_or_default()
}
