//! Finds the row of a webhook in the table of webhooks, which has its registration.

use berth_manifests::ShippedWebhook;
use berth_manifests::webhooks::WEBHOOKS;
use berth_review::Webhook;

/// Returns the row of a webhook.
pub fn shipped(webhook: Webhook) -> &'static ShippedWebhook {
    let row = WEBHOOKS.iter().find(|row| row.webhook == webhook);
    row.expect("a test finds a row for each")
}

/// Returns the webhook at a path.
pub fn webhook_at(path: &str) -> Option<Webhook> {
    Webhook::ALL.into_iter().find(|it| it.path() == path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_has_a_row_and_every_row_a_webhook() {
        assert_eq!(Webhook::ALL.len(), WEBHOOKS.len());
        for row in WEBHOOKS {
            assert_eq!(webhook_at(row.path), Some(row.webhook));
            assert_eq!(shipped(row.webhook), *row);
        }
    }
}
