use std::time::Duration;

use berth_placement::OnFault;
use clap::Parser;

use super::args::ControllerArgs;
use crate::hub_component::HubComponent;
use crate::hub_component::manager::tests::{self, FLAGS, assert_taken};

/// The command as it is in [`crate::cli`].
#[derive(Debug, Parser)]
#[command(args_override_self = true)]
struct Command {
    #[command(flatten)]
    args: ControllerArgs,
}

fn args(flags: &[&str]) -> Result<ControllerArgs, String> {
    let words = ["controller"].iter().chain(flags);
    let command = Command::try_parse_from(words).map_err(|error| error.to_string())?;
    Ok(command.args)
}

fn component(flags: &[&str]) -> Result<HubComponent, String> {
    tests::component(&args(flags)?.manager)
}

#[test]
fn without_flags_it_holds_ocms_lease_and_keeps_decisions() {
    let component = component(&[]).unwrap();
    let lease = component.election(berth_placement::NAMES.lease).unwrap();
    assert_eq!(lease.namespace, "open-cluster-management-hub");
    assert_eq!(lease.name, "placement-lock");
    assert_eq!(lease.lease_duration, Duration::from_secs(15));
    assert!(component.limit().is_none() && component.warnings.is_empty());
    let args = args(&[]).unwrap();
    assert_eq!(
        args.placement
            .settings(&Default::default())
            .scheduler
            .on_fault,
        OnFault::Keep
    );
}

#[test]
fn flags_of_ocms_controller_are_accepted() {
    let flags = [&FLAGS[..], &["--misconfigured-decisions=remove"]].concat();
    let args = args(&flags).unwrap();
    assert_eq!(
        args.placement
            .settings(&Default::default())
            .scheduler
            .on_fault,
        OnFault::Remove
    );
    assert_taken(&args.manager, "placement-lock");
    let alone = component(&["--disable-leader-election"]).unwrap();
    assert!(alone.election(berth_placement::NAMES.lease).is_none());
}

#[test]
fn what_is_wrong_is_named() {
    for (flag, expected) in [
        (
            "--namespace=A",
            "--namespace: \"A\" is not a valid name of a Namespace",
        ),
        (
            "--kube-api-burst=0",
            "--kube-api-burst: 0 is not between 1 and",
        ),
        (
            "--misconfigured-decisions=drop",
            "possible values: keep, remove",
        ),
    ] {
        let error = component(&[flag]).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}
