import Foundation
import LarderXML
import Testing

/// Limits and interruption of the XML reader.
@Suite(.timeLimit(.minutes(30))) struct XMLReaderTests {
    private func error(_ text: String, _ rules: XMLRules) -> XMLError? {
        do {
            _ = try XMLEvent.filtered(text, rules)
            return nil
        } catch {
            return error as? XMLError
        }
    }

    private struct Enough: Error {}

    /// Reads an endless document. Returns the number of bytes read, and the error.
    private func read(
        _ beginning: String = "", endless piece: String, limit: Int = .max,
        _ rules: XMLRules = .list()
    ) throws -> (count: Int, error: any Error) {
        var rest = Array(beginning.utf8)[...]
        let pieces = Array(String(repeating: piece, count: (64 << 10) / piece.utf8.count).utf8)
        var count = 0
        do {
            let reader = try XMLReader(rules) { buffer in
                #expect(buffer.count <= 64 << 10)
                guard count < limit else { throw Enough() }
                if rest.isEmpty { rest = pieces[...] }
                let next = rest.prefix(buffer.count)
                buffer.copyBytes(from: next)
                rest = rest.dropFirst(next.count)
                count += next.count
                return next.count
            }
            while try reader.advance() != .finished {}
        } catch {
            return (count, error)
        }
        throw Enough()
    }

    // MARK: - Texts

    @Test(arguments: ["a", "é", "🍎", "&amp;", "&#233;", "\r\n", "<![CDATA[<]]>", "a<!--b-->"])
    func aLongTextIsTruncatedAfterItsLimit(piece: String) throws {
        for rules in [XMLRules.list(maximumTextBytes: 100), .any(maximumTextBytes: 100)] {
            for shift in 1..<5 {
                let start = String(repeating: "x", count: shift)
                let text = start + String(repeating: piece, count: 2000)
                let events = try XMLEvent.filtered(
                    "<plist><array><string>\(text)</string><key>k</key></array></plist>", rules)
                guard events.count == 10, case .text(let found) = events[3] else {
                    Issue.record("\(events)")
                    continue
                }
                #expect((101...1000).contains(found.utf8.count), "\(found.utf8.count)")
                #expect(!found.unicodeScalars.contains("\u{FFFD}"))
                #expect(events[6] == .text("k"))
            }
        }
    }

    @Test(arguments: ["a", "é", "🍎", "&amp;", "&#233;", "\r\n", "<![CDATA[<]]>", "a<!--b-->"])
    func aTextWithinItsLimitIsComplete(piece: String) throws {
        let unit = try XMLEvent.filtered("<a>x\(piece)</a>", .any())
        guard unit.count == 3, case .text(let once) = unit[1] else { throw Enough() }
        let count = 1000 / (once.utf8.count - 1)
        let text = "x" + String(repeating: piece, count: count)
        let whole = "x" + String(repeating: String(once.unicodeScalars.dropFirst()), count: count)
        let list = "<plist><string>\(text)</string></plist>"
        for rules in [XMLRules.list(maximumTextBytes: 1001), .any(maximumTextBytes: 1001)] {
            #expect(try XMLEvent.filtered(list, rules)[2] == .text(whole))
        }
    }

    /// White space between elements has no meaning. Text after it must still be found.
    @Test func longWhiteSpaceIsTruncated() throws {
        let blanks = String(repeating: " \n", count: 10_000)
        let rules = XMLRules.list(maximumTextBytes: 100)
        let events = try XMLEvent.filtered("<plist>\(blanks)<array/>\(blanks)</plist>", rules)
        #expect(events == [.start("plist"), .start("array"), .end, .end])
        let other = error("<plist>\(blanks)x<array/></plist>", rules)
        #expect(other?.code == .malformed)
        #expect(other?.line == 10_001)
    }

    @Test func errorsHaveTheLineInTheOriginalDocument() throws {
        let long = String(repeating: "a\n", count: 5000)
        let text = "<plist><array><string>\(long)</string><!--\n\n-->\n<key>&nothing;</key></array>"
        for rules in [XMLRules.list(maximumTextBytes: 100), .any(maximumTextBytes: 100)] {
            #expect(error(text, rules)?.line == 5004)
        }
    }

    /// The lines of a removed comment must not become a text node, which libxml2 limits to 10 MB.
    @Test func aCommentMayHaveMillionsOfLines() throws {
        let lines = String(repeating: "\n", count: 11 << 20)
        let events = try XMLEvent.filtered("<plist>\n<!--\(lines)--></plist>", .list())
        #expect(events == [.start("plist"), .end])
    }

    // MARK: - Limits

    @Test func commentsInstructionsAndAttributesHaveALimit() throws {
        let attributes = "<array " + String(repeating: " ", count: 1000) + "a='b'></array>"
        for piece in ["<!--comment-->", "<?p instruction?>", "<!-- ", "<? ", attributes] {
            for (beginning, rules) in [("<plist><array>", XMLRules.list()), ("<a>", .any())] {
                var rules = rules
                rules.maximumSkippedBytes = 1 << 20
                let (count, error) = try read(beginning, endless: piece, rules)
                #expect((error as? XMLError)?.code == .tooLarge, "\(piece): \(error)")
                #expect(count < 2 << 20, "\(piece)")
            }
        }
        var rules = XMLRules.list(maximumTextBytes: 1000)
        rules.maximumSkippedBytes = 1 << 20
        let (count, error) = try read("<plist>", endless: "  \n", rules)
        #expect((error as? XMLError)?.code == .tooLarge)
        #expect(count < 2 << 20)
    }

    @Test func elementNamesHaveALimit() throws {
        var rules = XMLRules.any()
        rules.maximumNames = 10
        let few = (0..<9).map { "<n\($0)/>" }.joined()
        #expect(error("<a>\(few)\(few)</a>", rules) == nil)
        #expect(error("<a>\(few)<n9/></a>", rules)?.code == .tooLarge)
        let long = String(repeating: "n", count: 5000)
        #expect(error("<a><\(long)/></a>", rules)?.code == .tooLarge)
    }

    /// A tag and the line breaks before it must fit into the rest of the output, which has 64 KiB.
    @Test(arguments: [1, 2_048, 5_000])
    func longTagsFitIntoTheOutput(lines: Int) throws {
        let breaks = String(repeating: "\n", count: lines)
        let tag = "<\(String(repeating: "n", count: 4_093))/>"
        for limit in [4_096, 6_144, 8_192] {
            for room in (limit - 4)...(limit + 4) {
                let text = String(repeating: "x", count: (64 << 10) - room - 3)
                let bytes = Array("<a>\(text)<!--\(breaks)-->\(tag)</a>".utf8)
                for size in [100, 64 << 10] {
                    let events = try XMLEvent.filtered(bytes, .any(), bufferSize: size)
                    let isSame = events == XMLEvent.unfiltered(bytes)
                    #expect(isSame, "\(lines) line breaks, \(room) bytes of room")
                }
            }
        }
    }

    @Test func theDepthOfADocumentHasALimit() throws {
        for (rules, name) in [(XMLRules.list(), "array"), (.any(), "a")] {
            var rules = rules
            rules.maximumDepth = 5
            let root = name == "array" ? "plist" : "a"
            func nested(_ depth: Int) -> String {
                "<\(root)>" + String(repeating: "<\(name)>", count: depth - 1)
                    + String(repeating: "</\(name)>", count: depth - 1) + "</\(root)>"
            }
            #expect(error(nested(5), rules) == nil)
            #expect(error(nested(6), rules)?.code == .tooDeep)
            #expect(error(nested(200_000), rules)?.code == .tooDeep)
        }
    }

    @Test func documentTypesAreRefusedUnlessPermitted() throws {
        let text = "<!DOCTYPE a SYSTEM 'file:///etc/passwd'><a/>"
        var rules = XMLRules.any()
        #expect(error(text, rules) == nil)
        #expect(error("<!DOCTYPE a><!DOCTYPE a><a/>", rules)?.code == .malformed)
        #expect(error("<!DOCTYPE a [<!ENTITY b 'c'>]><a/>", rules)?.code == .declarations)
        rules.permitsDocumentType = false
        #expect(error(text, rules)?.code == .declarations)
        #expect(error("<a>&b;</a>", rules)?.code == .malformed)
    }

    @Test func errorsNameUnexpectedElements() throws {
        for (text, name) in [
            ("<svg/>", "svg"), ("<array/>", "array"), ("<plist><svg/></plist>", "svg"),
        ] {
            let error = error(text, .list())
            #expect(error?.code == .malformed)
            #expect(error?.reason == "<\(name)> is not a property list element")
        }
        #expect(error("<plist></plist a='b'>", .list())?.code == .malformed)
    }

    @Test func aByteOrderMarkIsSkipped() throws {
        #expect(try XMLEvent.filtered("\u{FEFF}<a/>", .any()) == [.start("a"), .end])
        #expect(error("\u{FEFF}\u{FEFF}<a/>", .any())?.code == .malformed)
    }

    // MARK: - Interruption

    /// The reader must ask for more bytes at least every 64 KiB.
    @Test(arguments: [
        ("<plist><array>", "<array></array>"), ("<plist><string>", "text"),
        ("<plist><string><![CDATA[", "text"), ("<plist>", " "), ("", " "), ("<plist><!--", "x"),
        ("<plist><array>", "<?p?>"), ("<plist><string>", "&amp;"), ("<plist><string>", "<!---->"),
    ])
    func readingCanBeInterruptedAnywhere(beginning: String, piece: String) throws {
        for rules in [XMLRules.list(), .any()] {
            let (count, error) = try read(beginning, endless: piece, limit: 1 << 20, rules)
            #expect(error is Enough, "\(error)")
            #expect(count < 2 << 20)
        }
    }
}
