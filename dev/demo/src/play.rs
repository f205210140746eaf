//! Runs the steps, and prints each with its result.

use std::fs;
use std::path::Path;

use anyhow::Context;
use kube::config::Kubeconfig;
use serde_json::Value;

use crate::act::{FILES, StepResult};
use crate::managed::Agents;
use crate::request::Answer;
use crate::steps::steps;
use crate::text::Screen;
use crate::users;

/// Writes the files that the commands read.
pub(super) fn write_files(folder: &Path) -> anyhow::Result<()> {
    for (name, text) in FILES {
        fs::write(folder.join(name), text).with_context(|| format!("{name} cannot be written"))?;
    }
    Ok(())
}

/// Runs all steps.
///
/// # Errors
/// A step does not end as expected.
pub(super) async fn play(
    screen: &Screen,
    kubeconfig: &Kubeconfig,
    agents: &mut Agents,
    folder: &Path,
) -> anyhow::Result<()> {
    for (number, step) in steps().into_iter().enumerate() {
        let client = users::client(kubeconfig, step.who).await?;
        screen.story(number + 1, step.story)?;
        if let Some(happening) = step.before {
            agents.happen(happening).await?;
        }
        screen.command(&step.act.command(step.who, agents)?)?;
        match step.act.send((step.who, &client), agents, folder).await? {
            StepResult::Seen(lines) => {
                for line in lines {
                    screen.done(&line)?;
                }
            }
            StepResult::Answered(Answer::Done { object, warnings }) => {
                screen.warnings(&warnings)?;
                screen.done(&step.act.result(&object))?;
                if let Some(pointer) = step.shows {
                    let shown = object.pointer(pointer).unwrap_or(&Value::Null);
                    screen.field(pointer, shown)?;
                }
                anyhow::ensure!(
                    !step.refused,
                    "the hub allowed a request that it should have refused"
                );
            }
            StepResult::Answered(Answer::Refused {
                reason,
                message,
                warnings,
            }) => {
                screen.warnings(&warnings)?;
                let about = step.act.about();
                screen.refused(&format!("Error from server ({reason}): {about}{message}"))?;
                anyhow::ensure!(
                    step.refused,
                    "the hub refused a request that it should have allowed"
                );
            }
        }
    }
    Ok(())
}
