//! Chromium without a window, driven by its own driver: <https://www.w3.org/TR/webdriver2/>.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

/// A browser with one page.
pub struct Chromium {
    driver: Child,
    session: String,
}

impl Chromium {
    /// Starts it; `None` where it is not installed, which is said.
    pub fn start(width: u32, height: u32) -> Option<Chromium> {
        let mut command = Command::new("chromedriver");
        let started = command.arg("--port=0").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut driver) = started else {
            println!("skipped: no chromium (Debian has it as chromium and chromium-driver)");
            return None;
        };
        let said = BufReader::new(driver.stdout.take().expect("it is piped"));
        let port = said.lines().map_while(Result::ok).find_map(|line| {
            line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse::<u16>().ok()
        });
        let port = port.expect("the driver says its port");
        let session = format!("http://127.0.0.1:{port}/session");
        let mut browser = Chromium { driver, session };
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
        let asked = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "performance": "ALL", "browser": "ALL" },
        } } });
        let made = browser.ask("", &asked);
        let id = made["sessionId"].as_str().unwrap_or_else(|| panic!("chromium does not start: {made}"));
        browser.session = format!("{}/{id}", browser.session);
        // A window is never narrower than 500 pixels; a page may be.
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        let call = json!({ "cmd": "Emulation.setDeviceMetricsOverride", "params": size });
        browser.ask("/goog/cdp/execute", &call);
        Some(browser)
    }

    /// Sends a command of the protocol; its value.
    fn ask(&self, path: &str, body: &Value) -> Value {
        let request = minreq::post(format!("{}{path}", self.session)).with_json(body).expect("it has JSON");
        let answer = request.with_timeout(60).send().unwrap_or_else(|error| panic!("{path}: {error}"));
        let answer: Value = answer.json().unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(answer["value"]["error"].is_null(), "{path}: {}", answer["value"]["message"]);
        answer["value"].clone()
    }

    /// Opens a file, and waits until it is loaded.
    pub fn open(&self, page: &Path) {
        self.ask("/url", &json!({ "url": format!("file://{}", page.display()) }));
    }

    /// The value of an expression.
    pub fn value(&self, expression: &str) -> Value {
        self.ask("/execute/sync", &json!({ "script": format!("return {expression};"), "args": [] }))
    }

    /// Waits until an expression holds.
    #[track_caller]
    pub fn wait_for(&self, expression: &str) {
        let script = "const [test, done] = arguments;\n\
                      const holds = new Function(`return ${test};`);\n\
                      let left = 300;\n\
                      const look = () => holds() ? done(true) : left-- ? setTimeout(look, 20) : done(false);\n\
                      look();";
        let held = self.ask("/execute/async", &json!({ "script": script, "args": [expression] }));
        assert_eq!(held, true, "it never holds that {expression}");
    }

    /// Clicks an element as a mouse does.
    #[track_caller]
    pub fn click(&self, selector: &str) {
        let found = self.ask("/element", &json!({ "using": "css selector", "value": selector }));
        let id = found.as_object().and_then(|found| found.values().next()?.as_str()).expect("it is an element");
        self.ask(&format!("/element/{id}/click"), &json!({}));
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub fn press(&self, keys: &str) {
        let presses = keys.chars().flat_map(|key| {
            [
                json!({ "type": "keyDown", "value": key.to_string() }),
                json!({ "type": "keyUp", "value": key.to_string() }),
            ]
        });
        let actions: Vec<Value> = presses.collect();
        self.ask("/actions", &json!({ "actions": [{ "type": "key", "id": "keys", "actions": actions }] }));
    }

    /// The addresses that the page has asked the network or the disk for.
    pub fn requests(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "performance" }));
        let messages = log.as_array().into_iter().flatten().filter_map(|entry| entry["message"].as_str());
        let messages = messages.filter_map(|message| serde_json::from_str::<Value>(message).ok());
        let requests = messages.filter(|message| message["message"]["method"] == "Network.requestWillBeSent");
        requests.filter_map(|it| Some(it["message"]["params"]["request"]["url"].as_str()?.to_owned())).collect()
    }

    /// Errors of the page's script, and what its policy has refused.
    pub fn errors(&self) -> Vec<String> {
        let log = self.ask("/se/log", &json!({ "type": "browser" }));
        log.as_array().into_iter().flatten().map(ToString::to_string).collect()
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // Closing the session ends the browser; a panic may have happened on the way there.
        drop(minreq::delete(&self.session).with_timeout(10).send());
        drop(self.driver.kill());
        drop(self.driver.wait());
    }
}
