//! A good certificate is taken into use: its files are written, and the rest of the agent learns of it.

use berth_agent_core::asked::Asked;
use berth_agent_core::held::{self, Judged};
use berth_agent_core::identity::Identity;
use berth_agent_core::registration::{Fault, Held};
use berth_agent_core::rotation;
use jiff::Timestamp;
use tracing::warn;

use super::{Connection, Registration};
use crate::bootstrap::Hub;

impl Registration<'_> {
    /// Judges the content of a hub Secret, for the hub that is chosen.
    pub(super) fn judge(&self, data: &held::SecretData, asked: &Asked, now: Timestamp) -> Judged {
        let judged = held::judge(data, asked, now);
        let chosen = self.hubs.hub().map(|hub| &hub.endpoint.server);
        let is_for_other = self.several.is_some()
            && matches!(judged.held, Held::Certificate(_))
            && chosen.is_ok_and(|chosen| server_of(data).as_ref() != Some(chosen));
        if is_for_other {
            return Judged {
                held: Held::Unusable(Fault::OtherHub),
                ..judged
            };
        }
        judged
    }

    /// Judges the hub Secret. One that was lost, or spoilt, counts as due for renewal while the folder has a good certificate.
    pub(super) fn judged(&self, asked: &Asked, now: Timestamp) -> Judged {
        let empty = held::SecretData::new();
        let stored = self.exchange.stored();
        let judged = self.judge(stored.map_or(&empty, |it| &it.data), asked, now);
        if !matches!(judged.held, Held::Unusable(_)) {
            return judged;
        }
        let remembered = self.judge(&self.memory, asked, now);
        match remembered.held {
            Held::Certificate(rotation::Standing::Fresh { .. } | rotation::Standing::Due) => {
                Judged {
                    held: Held::Certificate(rotation::Standing::Due),
                    ..remembered
                }
            }
            _ => judged,
        }
    }

    /// Takes a good Secret into use: writes the folder, and tells the rest of the agent.
    pub(super) fn publish(
        &mut self,
        identity: &Identity,
        asked: &Asked,
        judged: &Judged,
        hub: &Hub,
    ) {
        self.standing.certificate(judged);
        if is_gone(judged) {
            // Without a certificate there is nothing to call the hub with.
            self.connected(None);
            return;
        }
        self.remember(asked);
        match self.folder.write(&self.memory) {
            Ok(()) => self.connected_to(identity, hub.endpoint.server.clone()),
            Err(error) => warn!(%error, "the files of the hub Secret cannot be written"),
        }
    }

    /// Goes on with a good certificate while the bootstrap kubeconfig cannot be read.
    pub(super) fn connect_with_memory(&mut self, identity: &Identity, asked: &Asked) {
        let judged = self.judged(asked, Timestamp::now());
        if self.tell.borrow().connection.is_some() || is_gone(&judged) {
            return;
        }
        self.remember(asked);
        if self.folder.write(&self.memory).is_ok()
            && let Some(server) = server_of(&self.memory)
        {
            self.standing.certificate(&judged);
            self.connected_to(identity, server);
        }
    }

    /// Remembers the Secret, unless it cannot be used: then the files in the folder may be better.
    fn remember(&mut self, asked: &Asked) {
        let usable = self.exchange.stored().filter(|stored| {
            let judged = self.judge(&stored.data, asked, Timestamp::now());
            !matches!(judged.held, Held::Unusable(_))
        });
        if let Some(data) = usable.map(|stored| stored.data.clone()) {
            self.memory = data;
        }
    }

    /// The hub at this URL can be called with what is remembered.
    fn connected_to(&self, identity: &Identity, url: String) {
        let kubeconfig = self
            .memory
            .get(held::KUBECONFIG)
            .map_or(&[][..], Vec::as_slice);
        self.connected(Some(Connection {
            identity: identity.clone(),
            kubeconfig: String::from_utf8_lossy(kubeconfig).into_owned(),
            url,
        }));
    }

    pub(super) fn connected(&self, connection: Option<Connection>) {
        self.tell.send_if_modified(|it| {
            let differs = it.connection != connection;
            it.connection = connection;
            differs
        });
    }
}

fn is_gone(judged: &Judged) -> bool {
    matches!(
        judged.held,
        Held::Unusable(_) | Held::Certificate(rotation::Standing::Expired)
    )
}

/// The URL of the hub in the kubeconfig of a hub Secret.
pub(super) fn server_of(data: &held::SecretData) -> Option<String> {
    let text = held::name(data, held::KUBECONFIG)?;
    let endpoint = berth_hub::endpoint_in(text, "the hub Secret").ok()?;
    Some(endpoint.server)
}
