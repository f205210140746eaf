//! Connecting to the hub or the managed cluster that the flags name.

use std::time::Duration;

use berth_hub::{Access, ConnectError, HubApi, Identity};
use serde_json::Value;

use super::args::ConnectionArgs;
use super::lists::LONGEST_PAGE;
use super::{ClusterArgs, HubArgs, HubConnection, Peer, Wait};
use crate::failure::{CommandError, or_nearest};

const DEFAULT_WAIT: Duration = Duration::from_secs(30);

impl HubConnection {
    /// Connects to the hub that the flags name. No request is sent yet.
    ///
    /// # Errors
    /// No kubeconfig was found, or it cannot be used.
    pub(crate) async fn of(args: &HubArgs) -> Result<Self, CommandError> {
        let connection = args.connection();
        Self::at(connection, connection.access(), Peer::Hub).await
    }

    /// As [`Self::of`]; `None` if no flag names a hub, and there is no kubeconfig.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub(crate) async fn of_any(args: &HubArgs) -> Result<Option<Self>, CommandError> {
        match HubApi::connect(&args.access()).await {
            Err(ConnectError::NoKubeconfig { .. }) if !args.any() => Ok(None),
            _ => Self::of(args).await.map(Some),
        }
    }

    /// Connects to the managed cluster that the flags name. No request is sent yet.
    ///
    /// # Errors
    /// No kubeconfig was found, or it cannot be used.
    pub(crate) async fn of_cluster(args: &ClusterArgs) -> Result<Self, CommandError> {
        let connection = &args.connection;
        Self::at(connection, connection.access(), Peer::ManagedCluster).await
    }

    async fn at(
        connection: &ConnectionArgs,
        access: Access,
        peer: Peer,
    ) -> Result<Self, CommandError> {
        connection.check()?;
        let api = HubApi::connect(&access)
            .await
            .map_err(|error| CommandError::Config(words(&error)))?;
        Ok(Self::over(api, peer, connection.request_timeout))
    }

    /// As [`Self::of`], without credentials: those of a kubeconfig or of a pod are left out.
    ///
    /// # Errors
    /// No API server is named, or a flag names a user.
    pub(crate) async fn anonymous(args: &HubArgs) -> Result<Self, CommandError> {
        let connection = args.connection();
        if connection.names_a_user() {
            return Err(CommandError::Config(
                "--as, --token, --client-certificate and --user name a user: users of this server sign in themselves".to_owned(),
            ));
        }
        let access = Access {
            anonymous: true,
            home: false,
            ..connection.access()
        };
        Self::at(connection, access, Peer::Hub).await
    }

    /// The same API server, as this user.
    pub(crate) fn as_user(&self, identity: Identity) -> Self {
        Self {
            api: self.api.as_user(identity),
            ..self.clone()
        }
    }

    /// Connects to the hub of a kubeconfig in memory. Messages use `name` for it. No request is sent yet.
    ///
    /// # Errors
    /// The kubeconfig cannot be used.
    pub(crate) async fn of_kubeconfig(
        kubeconfig: &Value,
        name: &str,
        wait: Option<Wait>,
    ) -> Result<Self, CommandError> {
        let api = HubApi::of_kubeconfig(&kubeconfig.to_string(), name)
            .await
            .map_err(|error| CommandError::Config(error.to_string()))?;
        Ok(Self::over(api, Peer::Hub, wait))
    }

    /// A connection through this client.
    pub(crate) fn over(api: HubApi, peer: Peer, wait: Option<Wait>) -> Self {
        Self {
            api,
            peer,
            wait: wait.unwrap_or(Wait(DEFAULT_WAIT)).0,
            longest_page: LONGEST_PAGE,
        }
    }

    /// Reduces the timeout of each request to this limit.
    pub(crate) fn within(mut self, limit: Duration) -> Self {
        self.wait = self.wait.min(limit);
        self
    }

    /// Returns the client.
    pub(crate) fn client(&self) -> &HubApi {
        &self.api
    }

    /// Returns the URL of the API server, for messages.
    pub(crate) fn server(&self) -> &str {
        self.api.server()
    }
}

fn words(error: &ConnectError) -> String {
    match error {
        ConnectError::NoKubeconfig { .. } => {
            "no kubeconfig: set --kubeconfig FILE or $KUBECONFIG (~/.kube/config does not exist, and this does not run in a \
             cluster)"
                .to_owned()
        }
        ConnectError::NoContext { context, contexts } => {
            let near = or_nearest(context, contexts.iter().map(String::as_str));
            format!("{error}{near}")
        }
        error => error.to_string(),
    }
}
