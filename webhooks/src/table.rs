//! Finds the row of a webhook in the table of webhooks, which has its path and its registration.

use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::WEBHOOKS;
use berth_review::Webhook;

/// Returns the row of a webhook.
pub fn shipped(webhook: Webhook) -> &'static ShippedWebhook {
    let objects = (webhook.group(), webhook.version(), webhook.kind());
    let is_its_row = |row: &&&ShippedWebhook| {
        (row.group, row.version, row.kind) == objects && row.mutates == webhook.mutates()
    };
    let row = WEBHOOKS.iter().find(is_its_row);
    row.expect("a test finds a row for each")
}

/// Returns the webhook at a path.
pub fn webhook_at(path: &str) -> Option<Webhook> {
    let is_there = |webhook: &Webhook| shipped(*webhook).path == path;
    Webhook::ALL.into_iter().find(is_there)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_has_a_row_and_every_row_a_webhook() {
        assert_eq!(Webhook::ALL.len(), WEBHOOKS.len());
        for row in WEBHOOKS {
            let webhook = webhook_at(row.path).unwrap_or_else(|| panic!("{}", row.name));
            assert_eq!(webhook.resource(), row.resource);
            assert_eq!(webhook.conventional_path(), row.path);
        }
    }
}
