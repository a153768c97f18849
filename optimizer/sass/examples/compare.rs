//! Compares our text with lines of `word text`: how many are the same, and examples of those that are not.
use oriole_sass::{Table, text};
use std::collections::BTreeMap;

fn main() {
    let mut args = std::env::args().skip(1);
    let sm: u16 = args.next().unwrap().parse().unwrap();
    let file = args.next().unwrap();
    let only = args.next();
    let table = Table::of(sm).unwrap();
    for e in table.encodings() {
        let o = e.overlaps();
        if !o.is_empty() {
            println!("OVERLAP {} {:?}: {:?}", e.name, e.form, o);
        }
    }
    let mut stats: BTreeMap<String, (usize, usize, Vec<String>)> = BTreeMap::new();
    let text_in = std::fs::read_to_string(file).unwrap();
    for (i, line) in text_in.lines().enumerate() {
        let (hex, theirs) = line.split_once(' ').unwrap();
        let word = u128::from_str_radix(hex, 16).unwrap();
        let body = if theirs.starts_with('@') { theirs.split_once(' ').unwrap().1 } else { theirs };
        let name = body.split([' ', '.']).next().unwrap().to_owned();
        if only.as_ref().is_some_and(|o| !name.starts_with(o.as_str())) {
            continue;
        }
        let entry = stats.entry(name).or_default();
        entry.0 += 1;
        let result = match table.decode(word) {
            Ok(inst) => {
                let mut out = String::new();
                text::print(&mut out, &inst, 16 * i as u64);
                let same = inst.encode() == word;
                if out == theirs && same {
                    entry.1 += 1;
                    continue;
                }
                format!("{out}{}", if same { "" } else { "  ENCODES DIFFERENTLY" })
            }
            Err(error) => format!("error: {error}"),
        };
        entry.2.push(format!("   {hex} {theirs}\n      ours {result}"));
    }
    let (mut all, mut good) = (0, 0);
    for (name, (n, ok, bad)) in &stats {
        all += n;
        good += ok;
        if n != ok {
            println!("{name}: {ok}/{n}");
            if only.is_some() || args.len() > 0 {
                for b in bad.iter().take(12) {
                    println!("{b}");
                }
            } else if *ok > 0 {
                for b in bad.iter().take(2) {
                    println!("{b}");
                }
            }
        }
    }
    println!("{good} of {all}");
}
