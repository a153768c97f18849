//! Numbers in the text of instructions.

use std::fmt::Write;

/// A name with a number behind it.
pub fn decimal(out: &mut String, name: &str, value: u64) {
    out.push_str(name);
    if value >= 10 {
        let tens = value / 10;
        decimal(out, "", tens);
    }
    out.push((b'0' + (value % 10) as u8) as char);
}

/// `0x1f`
pub fn hex(out: &mut String, value: u64) {
    out.push_str("0x");
    let digits = (64 - value.leading_zeros()).div_ceil(4).max(1);
    for digit in (0..digits).rev() {
        out.push(char::from_digit((value >> (4 * digit) & 0xf) as u32, 16).unwrap_or('0'));
    }
}

/// A float of 32 bits.
pub fn float32(out: &mut String, bits: u32) {
    float(out, f64::from(f32::from_bits(bits)), bits >> 31 == 1, bits >> 22 & 1 == 1);
}

/// A float of 64 bits by its upper half.
pub fn float64(out: &mut String, upper: u32) {
    let value = f64::from_bits(u64::from(upper) << 32);
    float(out, value, upper >> 31 == 1, upper >> 19 & 1 == 1);
}

/// Two floats of 16 bits, the upper one first.
pub fn halves(out: &mut String, bits: u32, is_bf16: bool) {
    half(out, bits >> 16, is_bf16);
    out.push_str(", ");
    half(out, bits & 0xffff, is_bf16);
}

/// A float of 16 bits.
pub fn half(out: &mut String, bits: u32, is_bf16: bool) {
    if is_bf16 {
        return float32(out, bits << 16);
    }
    let (sign, exponent, fraction) = (bits >> 15, bits >> 10 & 0x1f, bits & 0x3ff);
    let magnitude = match exponent {
        0 => f64::from(fraction) * 2f64.powi(-24),
        0x1f if fraction == 0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => f64::from(fraction | 0x400) * 2f64.powi(exponent as i32 - 25),
    };
    float(out, if sign == 1 { -magnitude } else { magnitude }, sign == 1, fraction >> 9 == 1);
}

/// From here on numbers have exponents and no digit less, like C's `%.20e`.
const LARGE: f64 = 1e9;

/// As C's `%.20g` below [`LARGE`]. What is no finite number, and zero with a sign, has a space behind it.
fn float(out: &mut String, value: f64, negative: bool, quiet: bool) {
    if value.is_nan() {
        out.push(if negative { '-' } else { '+' });
        return out.push_str(if quiet { "QNAN " } else { "SNAN " });
    }
    if value.is_infinite() {
        return out.push_str(if negative { "-INF " } else { "+INF " });
    }
    if value == 0.0 {
        return out.push_str(if negative { "-0.0 " } else { "0" });
    }
    let magnitude = value.abs();
    if negative {
        out.push('-');
    }
    if magnitude.fract() == 0.0 && magnitude < LARGE {
        decimal(out, "", magnitude as u64);
    } else if magnitude >= LARGE {
        let text = format!("{magnitude:.20e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let _ = write!(out, "{mantissa}e+{exponent:0>2}");
    } else {
        general(out, magnitude, 20);
    }
}

/// As C's `%.Ng` with that many significant digits.
fn general(out: &mut String, value: f64, digits: usize) {
    let scientific = format!("{:.*e}", digits - 1, value);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return out.push_str(&scientific) };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let trim = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    if exponent < -4 || exponent >= digits as i32 {
        let sign = if exponent < 0 { '-' } else { '+' };
        let _ = write!(out, "{}e{sign}{:02}", trim(mantissa), exponent.abs());
    } else {
        let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
        let fixed = format!("{value:.decimals$}");
        out.push_str(&if fixed.contains('.') { trim(&fixed) } else { fixed });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(write: impl Fn(&mut String, u32), bits: u32) -> String {
        let mut out = String::new();
        write(&mut out, bits);
        out
    }

    #[test]
    fn floats_print_as_nvdisasm_prints_them() {
        let singles = [
            (0x3f80_0000, "1"),
            (0x3dcc_cccd, "0.10000000149011611938"),
            (0x3f80_0001, "1.0000001192092895508"),
            (0x38d1_b717, "9.9999997473787516356e-05"),
            (0x3a83_126f, "0.0010000000474974513054"),
            (0x4cbe_bc20, "100000000"),
            (0x4e00_0000, "536870912"),
            (0x4e6e_6b28, "1.00000000000000000000e+09"),
            (0x5f80_0000, "1.84467440737095516160e+19"),
            (0x7e96_7699, "9.99999968028569246507e+37"),
            (0x0000_0001, "1.4012984643248170709e-45"),
            (0x0000_0000, "0"),
            (0x8000_0000, "-0.0 "),
            (0x7f80_0000, "+INF "),
            (0xff80_0000, "-INF "),
            (0x7fc0_0000, "+QNAN "),
            (0xff80_0001, "-SNAN "),
        ];
        for (bits, expected) in singles {
            assert_eq!(text(float32, bits), expected, "{bits:#x}");
        }
        let doubles = [
            (0xbfe0_0000, "-0.5"),
            (0x41cd_cd65, "1.00000000000000000000e+09"),
            (0x0000_1268, "9.9988441670283631488e-311"),
            (0x7e37_e43c, "9.99999660702670321094e+299"),
            (0x7ff8_0000, "+QNAN "),
        ];
        for (bits, expected) in doubles {
            assert_eq!(text(float64, bits), expected, "{bits:#x}");
        }
    }

    #[test]
    fn halves_print_upper_first() {
        let as_f16 = |bits| text(|out, bits| halves(out, bits, false), bits);
        assert_eq!(as_f16(0x3c00_8000), "1, -0.0 ");
        assert_eq!(as_f16(0x0001_7bff), "5.9604644775390625e-08, 65504");
        assert_eq!(as_f16(0x7c01_fe00), "+SNAN , -QNAN ");
        let as_bf16 = |bits| text(|out, bits| halves(out, bits, true), bits);
        assert_eq!(as_bf16(0x3f80_5f80), "1, 1.84467440737095516160e+19");
        assert_eq!(as_bf16(0x7f80_0001), "+INF , 9.183549615799121156e-41");
    }
}
