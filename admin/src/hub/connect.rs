//! From flags to a hub.

use std::time::Duration;

use berth_hub::{Access, ActAs, ConnectError, HubApi};

use super::{HubArgs, HubConnection, Wait};
use crate::failure::{CommandError, or_nearest};

const DEFAULT_WAIT: Duration = Duration::from_secs(30);

impl HubConnection {
    /// The hub that the flags name. Whether it answers, and is one, shows in use.
    ///
    /// # Errors
    /// There is no kubeconfig, or it cannot be used.
    pub(crate) async fn of(args: &HubArgs) -> Result<Self, CommandError> {
        if !args.as_groups.is_empty() && args.as_user.is_none() {
            return Err(CommandError::Config(
                "--as-group needs --as: a group alone is nobody".to_owned(),
            ));
        }
        let api = HubApi::connect(&args.access())
            .await
            .map_err(|error| CommandError::Config(words(&error)))?;
        Ok(Self {
            api,
            wait: args.request_timeout.unwrap_or(Wait(DEFAULT_WAIT)).0,
        })
    }

    /// The same, with answers that are waited for no longer than this.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.wait = self.wait.min(limit);
        self
    }

    /// Its URL, to be shown.
    pub(crate) fn server(&self) -> &str {
        self.api.server()
    }
}

impl HubArgs {
    /// Which API server they name, and as which user.
    pub(crate) fn access(&self) -> Access {
        Access {
            context: self.context.clone(),
            act_as: self.as_user.clone().map(|user| ActAs {
                user,
                groups: self.as_groups.clone(),
            }),
            ..Access::of_command(self.kubeconfig.clone())
        }
    }
}

fn words(error: &ConnectError) -> String {
    match error {
        ConnectError::NoKubeconfig { .. } => {
            "no kubeconfig: name the hub's by --kubeconfig FILE or in $KUBECONFIG (~/.kube/config is not there, and this does \
             not run in a cluster)"
                .to_owned()
        }
        ConnectError::NoContext { context, contexts } => {
            let near = or_nearest(context, contexts.iter().map(String::as_str));
            format!("{error}{near}")
        }
        error => error.to_string(),
    }
}
