//! The story of the README in a browser, on a running demo: `console/web/tests/story.mjs`. The agents are the demo's own: no status is
//! written by the test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use crate::{console, demo, is_empty, kubectl, stop, until_people_are_introduced};
use berth_testkit::berth;
use berth_testkit::browser::{play, stage};

/// A program that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The console of another user of the demo, and its address.
fn console_of(user: &str, kubeconfig: &Path) -> (Running, String) {
    let mut command = berth(&["console", "--context", user]);
    command.env("KUBECONFIG", kubeconfig);
    let piped = command.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut child = Running(piped.spawn().unwrap());
    let mut lines = BufReader::new(child.0.stdout.take().unwrap());
    let address = address(&mut lines);
    // It goes on to print, and would end if nobody could read that.
    child.0.stdout = Some(lines.into_inner());
    (child, address)
}

fn address(lines: &mut impl BufRead) -> String {
    let (host, code) = console(lines);
    format!("http://{host}/#code={code}")
}

#[tokio::test]
async fn the_story_of_the_readme_is_played_as_ada_and_as_dev() {
    let (Some(web), Some(kubectl)) = (stage(), kubectl()) else {
        return;
    };
    let [temporary, cache] = [(); 2].map(|()| TempDir::new().unwrap());
    let mut command = demo(temporary.path(), &[]);
    let mut of_demo = Running(command.stdin(Stdio::piped()).spawn().unwrap());
    // The play types into it. Kept here, so that it does not end.
    let typed = of_demo.0.stdin.take();
    let (said, mut rest) = until_people_are_introduced(&mut of_demo.0);
    let folder = said.lines().find_map(|it| it.strip_prefix("  cd "));
    let kubeconfig = Path::new(folder.unwrap()).join("kubeconfig");
    let (_console, dev) = console_of("dev", &kubeconfig);
    let ada = address(&mut rest);
    // What it prints is read, so that it never waits for a reader.
    let read = std::thread::spawn(move || std::io::copy(&mut rest, &mut std::io::sink()));
    play(
        &web.join("tests/story.mjs"),
        &[
            ("CONSOLE", &ada),
            ("CONSOLE_DEV", &dev),
            ("DEMO_STDIN", &format!("/proc/{}/fd/0", of_demo.0.id())),
            ("BERTH", berth_testkit::program().to_str().unwrap()),
            ("KUBECTL", &kubectl),
            ("KUBECACHEDIR", cache.path().to_str().unwrap()),
            ("KUBECONFIG", kubeconfig.to_str().unwrap()),
        ],
    )
    .await;
    drop(typed);
    assert_eq!(stop(&mut of_demo.0, Signal::TERM), 0);
    read.join().unwrap().unwrap();
    assert!(is_empty(temporary.path()));
}
