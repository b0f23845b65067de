import LarderCore
import Testing

@testable import LarderManifest

@Suite struct JSONParserTests {
    private func parse(
        _ bytes: [UInt8], isWhole: Bool = true, depth: Int = 64
    ) throws -> ManifestValue {
        try bytes.withUnsafeBufferPointer { bytes in
            var parser = JSONParser(bytes: bytes, isWhole: isWhole, maximumDepth: depth)
            let value = try parser.value().withoutSpans
            let rest = bytes[parser.position...]
            if let next = rest.firstIndex(where: { !$0.isMarkupBlank }) {
                let found = JSONText.character(bytes, at: next)
                throw JSONParser.Error.syntax(at: next, "expected nothing more, found \(found)")
            }
            return value
        }
    }

    private func parse(_ text: String) throws -> ManifestValue { try parse(Array(text.utf8)) }

    /// Returns the offset and the reason of the error, or nil without an error.
    private func problem(_ bytes: [UInt8]) -> String? {
        do {
            _ = try parse(bytes)
            return nil
        } catch JSONParser.Error.syntax(let offset, let reason) {
            return "\(offset): \(reason)"
        } catch {
            return "\(error)"
        }
    }

    @Test(
        arguments: [
            ("0", .integer(0)), ("-0", .integer(0)), ("-12", .integer(-12)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .double(9_223_372_036_854_775_808)), ("0.5", .double(0.5)),
            ("1e3", .double(1000)), ("1E+3", .double(1000)), ("-1.25e-2", .double(-0.0125)),
            ("true", .bool(true)), ("false", .bool(false)), ("null", .null), ("[]", .array([])),
            ("{}", .dictionary([])), (" [ 1 ,\t2\r\n] ", .array([.integer(1), .integer(2)])),
            (
                #"{"a":{"b":[null]},"a":""}"#,
                .dictionary([
                    .init(key: "a", value: .dictionary([.init(key: "b", value: .array([.null]))])),
                    .init(key: "a", value: .string("")),
                ])
            ),
        ] as [(String, ManifestValue)])
    func jsonValuesAreRead(text: String, value: ManifestValue) throws {
        #expect(try parse(text) == value)
    }

    @Test(arguments: [
        (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"), (#""\u00e9\u4E2d""#, "é中"),
        (#""\ud83c\udf4e""#, "🍎"), (#""中文 🍎 é""#, "中文 🍎 é"), (#""\u0000""#, "\0"),
        (#""\ufffd""#, "\u{FFFD}"),
        (#""0123456789\\abcdefg\"""#, "0123456789\\abcdefg\""),
        ("\"\u{7F}\"", "\u{7F}"),
    ])
    func jsonStringsAreRead(text: String, value: String) throws {
        #expect(try parse(text) == .string(value))
    }

    @Test func theEndOfAStringIsFoundAtEveryPosition() throws {
        for length in 0..<40 {
            for filler in ["a", "é", "中"] {
                let text = String(repeating: filler, count: length)
                #expect(try parse("\"\(text)\"") == .string(text))
                #expect(try parse("\"\(text)\\n\(text)\"") == .string("\(text)\n\(text)"))
                #expect(try parse("\"\(text)\u{1F}\(text)\"") == .invalidText)
            }
        }
    }

    @Test(arguments: [
        ("[1 2]", "3: expected ',' or ']', found '2'"),
        ("{\"a\" 1}", "5: expected ':', found '1'"),
        ("{a:1}", "1: expected a key in quotation marks, found 'a'"),
        ("{“a”:1}", "1: expected a key in quotation marks, found '“'"),
        ("[01]", "1: a number has a leading zero"),
        ("[-]", "2: expected a digit, found ']'"),
        ("[1.]", "3: expected a digit after the decimal point, found ']'"),
        ("[1e]", "3: expected a digit in the exponent, found ']'"),
        ("[.5]", "1: expected a value, found '.'"),
        ("[+5]", "1: expected a value, found '+'"),
        ("[NaN]", "1: expected a value, found 'N'"),
        ("[nul]", "1: unknown word; expected true, false or null"),
        ("[1]/* c */", "3: expected nothing more, found '/'"),
        ("['a']", "1: expected a value, found '''"),
        ("[\u{1B}]", #"1: expected a value, found '\u{1B}'"#),
        ("[1", "unfinished"), ("[\"a", "unfinished"), ("[\"a\\", "unfinished"), ("", "unfinished"),
        ("tru", "unfinished"), ("{\"a\"", "unfinished"),
    ])
    func invalidJSONIsRefused(text: String, reason: String) {
        #expect(problem(Array(text.utf8)) == reason)
    }

    @Test(
        arguments: [
            [0x22, 0xFF, 0x22], [0x22, 0xC0, 0x80, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22],
            [0x22, 0xE4, 0xB8, 0x22], [0x22, 0x5C, 0x6E, 0xFF, 0x22],
        ] as [[UInt8]])
    func invalidUTF8InAStringIsInvalidText(bytes: [UInt8]) throws {
        #expect(try parse(bytes) == .invalidText)
        #expect(problem([0xFF]) == "0: expected a value, found byte 0xFF")
    }

    @Test(arguments: [
        #""\ud83c""#, #""\udf4e\ud83cx""#, #""\ud83c\ud83c\udf4e""#, #""http://h/\uDBFF.png""#,
        #""\ud83c\n""#, #""\ud83c\u0041""#, #""é\udc00""#,
    ])
    func anUnpairedSurrogateIsInvalidText(text: String) throws {
        #expect(try parse("[\(text),\"b\"]") == .array([.invalidText, .string("b")]))
    }

    @Test(arguments: [
        #""\x""#, #""\u12g4""#, #""\u123""#, #""a\ b""#, #""\'é""#, "\"a\u{1}b\"", "\"\u{8}\"",
        "\"a\nb\"", "\"\r\"", "\"\\\n\"", "\"\\\"\t\"", "\"\\\t\"",
    ])
    func aStringThatJSONForbidsIsInvalidText(text: String) throws {
        #expect(try parse("[\(text),\"b\"]") == .array([.invalidText, .string("b")]))
        guard case .dictionary(let members) = try parse("{\(text):1,\"b\":2}") else {
            Issue.record("\(text)")
            return
        }
        #expect(members.map(\.value) == [.integer(1), .integer(2)])
    }

    @Test func invalidUTF8IsFoundAtEveryPosition() throws {
        for place in 0..<24 {
            var bytes = [UInt8](repeating: 0x61, count: 26)
            (bytes[0], bytes[25], bytes[1 + place]) = (0x22, 0x22, 0xFF)
            #expect(try parse(bytes) == .invalidText)
        }
    }

    @Test func invalidBytesOfAKeyAreReplaced() throws {
        let bytes: [UInt8] = [0x7B, 0x22, 0x61, 0xFF, 0x22, 0x3A, 0x31, 0x7D]
        #expect(
            try parse(bytes) == .dictionary([.init(key: "a\u{FFFD}", value: .integer(1))]))
    }

    @Test func theNestingDepthIsLimited() throws {
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            func nested(_ depth: Int) -> [UInt8] {
                let text =
                    String(repeating: open, count: depth) + "1"
                    + String(repeating: close, count: depth)
                return Array(text.utf8)
            }
            _ = try parse(nested(5), depth: 5)
            #expect(throws: JSONParser.Error.self) { try parse(nested(6), depth: 5) }
        }
    }

    @Test func aNumberMayContinueAfterTheLastByte() throws {
        #expect(try parse([0x31]) == .integer(1))
        #expect(throws: JSONParser.Error.self) { try parse([0x31], isWhole: false) }
    }
}
