//! The commands that connect to a hub or to a managed cluster.

use std::process::ExitCode;

use clap::Subcommand;
use tokio::runtime::Builder;

use crate::{
    accept, agent_status, can_i, clusterset, cordon, delete_cluster, deny, doctor, drain, get,
    install, join, label, placement, replica_set, taint, unjoin, version, work,
};

/// A command that connects to a hub or to a managed cluster, with its arguments.
#[derive(Debug, Subcommand)]
#[expect(
    missing_docs,
    reason = "clap would show it instead of the documentation of the arguments"
)]
pub enum Command {
    Get(get::Args),
    Accept(accept::Args),
    Deny(deny::Args),
    Create(Create),
    Delete(Delete),
    Clusterset(clusterset::Args),
    Label(label::Args),
    Taint(taint::Args),
    Cordon(cordon::CordonArgs),
    Uncordon(cordon::UncordonArgs),
    Drain(drain::Args),
    Pause(Pause),
    Resume(Resume),
    Approve(Approve),
    CanI(can_i::Args),
    Doctor(doctor::Args),
    Init(Box<install::init::Args>),
    Upgrade(install::upgrade::Args),
    #[command(alias = "clean")]
    Uninstall(install::uninstall::Args),
    Join(Box<join::Args>),
    Unjoin(unjoin::Args),
    Version(version::Args),
}

/// Create cluster sets, placements or works
#[derive(Debug, clap::Args)]
pub struct Create {
    #[command(subcommand)]
    what: CreateWhat,
}

#[derive(Debug, Subcommand)]
enum CreateWhat {
    Clusterset(clusterset::create::Args),
    Placement(Box<placement::create::Args>),
    Work(Box<work::create::Args>),
}

/// Delete clusters or cluster sets
#[derive(Debug, clap::Args)]
pub struct Delete {
    #[command(subcommand)]
    what: DeleteWhat,
}

#[derive(Debug, Subcommand)]
enum DeleteWhat {
    Cluster(delete_cluster::Args),
    Clusterset(clusterset::delete::Args),
}

/// Pause rollouts
#[derive(Debug, clap::Args)]
pub struct Pause {
    #[command(subcommand)]
    what: PauseWhat,
}

#[derive(Debug, Subcommand)]
enum PauseWhat {
    Replicaset(replica_set::pause::PauseArgs),
}

/// Resume rollouts that are paused
#[derive(Debug, clap::Args)]
pub struct Resume {
    #[command(subcommand)]
    what: ResumeWhat,
}

#[derive(Debug, Subcommand)]
enum ResumeWhat {
    Replicaset(replica_set::pause::ResumeArgs),
}

/// Approve steps of rollouts
#[derive(Debug, clap::Args)]
pub struct Approve {
    #[command(subcommand)]
    what: ApproveWhat,
}

#[derive(Debug, Subcommand)]
enum ApproveWhat {
    Replicaset(Box<replica_set::approve::Args>),
}

// === impl Command ===

impl Command {
    /// Runs the command in a runtime of its own, and returns its exit code.
    ///
    /// # Errors
    /// The hub cannot be used, or the output cannot be written.
    pub fn run(&self) -> anyhow::Result<ExitCode> {
        let command = async {
            match self {
                Self::Get(args) => get::run(args).await,
                Self::Accept(args) => accept::run(args).await,
                Self::Deny(args) => deny::run(args).await,
                Self::Create(Create {
                    what: CreateWhat::Clusterset(args),
                }) => clusterset::create::run(args).await,
                Self::Create(Create {
                    what: CreateWhat::Placement(args),
                }) => placement::create::run(args).await,
                Self::Create(Create {
                    what: CreateWhat::Work(args),
                }) => work::create::run(args).await,
                Self::Delete(Delete {
                    what: DeleteWhat::Cluster(args),
                }) => delete_cluster::run(args).await,
                Self::Delete(Delete {
                    what: DeleteWhat::Clusterset(args),
                }) => clusterset::delete::run(args).await,
                Self::Clusterset(args) => clusterset::run(args).await,
                Self::Label(args) => label::run(args).await,
                Self::Taint(args) => taint::run(args).await,
                Self::Cordon(args) => cordon::cordon(args).await,
                Self::Uncordon(args) => cordon::uncordon(args).await,
                Self::Drain(args) => drain::run(args).await,
                Self::Pause(Pause {
                    what: PauseWhat::Replicaset(args),
                }) => replica_set::pause::pause(args).await,
                Self::Resume(Resume {
                    what: ResumeWhat::Replicaset(args),
                }) => replica_set::pause::resume(args).await,
                Self::Approve(Approve {
                    what: ApproveWhat::Replicaset(args),
                }) => replica_set::approve::run(args).await,
                Self::CanI(args) => can_i::run(args).await,
                Self::Doctor(args) => doctor::run(args).await,
                Self::Init(args) => install::init::run(args).await,
                Self::Upgrade(args) => install::upgrade::run(args).await,
                Self::Uninstall(args) => install::uninstall::run(args).await,
                Self::Join(args) => join::run(args).await,
                Self::Unjoin(args) => unjoin::run(args).await,
                Self::Version(args) => version::run(args).await,
            }
        };
        in_runtime(command)
    }
}

/// Runs `berth agent status`, a command of the agent.
///
/// # Errors
/// The managed cluster cannot be used, or the output cannot be written.
pub fn run_agent_status(args: &agent_status::AgentStatusArgs) -> anyhow::Result<ExitCode> {
    in_runtime(agent_status::run(args))
}

pub(crate) fn in_runtime(
    command: impl Future<Output = anyhow::Result<ExitCode>>,
) -> anyhow::Result<ExitCode> {
    Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(command)
}
