//! Texts at http and https addresses, as kubectl's `-f URL`: redirects are followed, and no credentials are sent.

use std::time::Duration;

use anyhow::{Context, bail, ensure};
use berth_hub::{Call, Cause, HubApi};
use http::Uri;

use crate::join::kubeconfig::Bootstrap;

/// Byte bound of a text.
const LONGEST: usize = 64 << 20;

/// The limit on redirects.
const MOST_REDIRECTS: usize = 10;

/// The deadline of a request, with its response.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Returns true if the text is an http or https address.
pub(crate) fn is_url(text: &str) -> bool {
    text.starts_with("https://") || text.starts_with("http://")
}

/// Reads the text at an address.
///
/// # Errors
/// The address is invalid, or the server does not return a text; the message names the address.
pub(crate) async fn text(url: &str) -> anyhow::Result<String> {
    let mut next = parsed(url)?;
    for _ in 0..=MOST_REDIRECTS {
        let at = next.to_string();
        match get(&next).await.with_context(|| at.clone())? {
            Got::Text(text) => return Ok(text),
            Got::Elsewhere(location) => next = joined(&next, &location).with_context(|| at)?,
        }
    }
    bail!("{url}: more than {MOST_REDIRECTS} redirects");
}

/// A response.
enum Got {
    Text(String),
    /// A redirect, and its location.
    Elsewhere(String),
}

async fn get(url: &Uri) -> anyhow::Result<Got> {
    let server = format!(
        "{}://{}",
        url.scheme_str().unwrap_or("https"),
        url.authority().map_or("", |it| it.as_str())
    );
    let bootstrap = Bootstrap {
        server: &server,
        authorities: None,
        token: None,
        proxy: None,
    };
    let api = HubApi::of_kubeconfig(&bootstrap.kubeconfig().to_string(), "-f").await?;
    let path = url.path_and_query().map_or("/", |it| it.as_str());
    let call = Call::get(path.to_owned()).accept("*/*");
    let answer = api.call(call.within(LONGEST_WAIT).at_most(LONGEST)).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => match error.cause() {
            Cause::Refused(refusal) => match (refusal.code, &refusal.location) {
                (301 | 302 | 303 | 307 | 308, Some(location)) => {
                    return Ok(Got::Elsewhere(location.clone()));
                }
                (code, _) => bail!("the server answers with HTTP {code}"),
            },
            Cause::NoConnection(why) => bail!("the server cannot be reached: {why}"),
            other => bail!("{other}"),
        },
    };
    let text = String::from_utf8(answer.body.into()).context("not UTF-8")?;
    Ok(Got::Text(text))
}

fn parsed(text: &str) -> anyhow::Result<Uri> {
    let url: Uri = text
        .parse()
        .with_context(|| format!("{text:?}: not a URL"))?;
    let host = url.authority().map_or("", |it| it.as_str());
    ensure!(
        is_url(text) && !host.is_empty(),
        "{text:?}: not an http or https URL"
    );
    ensure!(
        !host.contains('@'),
        "{}: the URL contains a user, and no credentials are sent: pipe the text, as in curl -fsSL URL | berth ... -f -",
        url.host().unwrap_or_default()
    );
    Ok(url)
}

/// The address of a redirect.
fn joined(from: &Uri, location: &str) -> anyhow::Result<Uri> {
    let scheme = from.scheme_str().unwrap_or("https");
    let host = from.authority().map_or("", |it| it.as_str());
    let text = if is_url(location) {
        location.to_owned()
    } else if location.starts_with("//") {
        format!("{scheme}:{location}")
    } else if location.starts_with('/') {
        format!("{scheme}://{host}{location}")
    } else {
        let folder = from
            .path()
            .rsplit_once('/')
            .map_or("", |(folder, _)| folder);
        format!("{scheme}://{host}{folder}/{location}")
    };
    let next = parsed(&text)?;
    ensure!(
        scheme == "http" || next.scheme_str() == Some("https"),
        "a redirect from https to {next} is not followed"
    );
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_to_its_location() {
        let from = parsed("https://h:1/a/b.yaml?x=1").unwrap();
        for (location, expected) in [
            ("https://o/c", Ok("https://o/c")),
            ("//o/c", Ok("https://o/c")),
            ("/c?y", Ok("https://h:1/c?y")),
            ("c.yaml", Ok("https://h:1/a/c.yaml")),
            ("http://o/c", Err("is not followed")),
            ("https://me:secret@o/c", Err("o: the URL contains a user")),
            ("https:///c", Err("not a")),
            ("a b", Err("not a URL")),
        ] {
            let next = joined(&from, location).map(|it| it.to_string());
            match (next, expected) {
                (Ok(next), Ok(expected)) => assert_eq!(next, expected),
                (Err(error), Err(words)) => {
                    let error = error.to_string();
                    assert!(
                        error.contains(words) && !error.contains("secret"),
                        "{error}"
                    );
                }
                (next, _) => panic!("{location}: {next:?}"),
            }
        }
    }
}
