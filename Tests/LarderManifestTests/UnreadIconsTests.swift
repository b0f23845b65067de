import Foundation
import Testing

@testable import LarderManifest

/// Values that look like icons but are not read.
@Suite struct UnreadIconsTests {
    private static let url = "https://a.example/~.png"

    /// A manifest and the places of its unread icons.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let text: String
        let unread: [String]

        init(_ unread: [String], _ text: String) {
            testDescription = text
            self.text = text.replacing("~", with: "https://a.example/i.png")
            self.unread = unread
        }
    }

    static let cases = [
        // A second list: after the first, before it, as a dictionary, nested, and with another
        // name.
        Case(
            ["$.games[*].icon 2"], #"{"apps":[{"icon":"~"}],"games":[{"icon":"~"},{"icon":"~"}]}"#),
        Case(["$.games[*].logo 1"], #"{"games":[{"logo":"~"}],"apps":[{"icon":"~"}]}"#),
        Case(
            ["$.games.a.icon 1", "$.games.b.icon 1"],
            #"{"apps":[{"icon":"~"}],"games":{"a":{"icon":"~"},"b":{"icon":"~"}}}"#),
        Case(["$.more.list[*].icon 1"], #"{"apps":[{"icon":"~"}],"more":{"list":[{"icon":"~"}]}}"#),
        Case(
            ["$.tabs[*].rows[*].pic.image 1"],
            #"{"apps":[{"icon":"~"}],"tabs":[{"rows":[{"pic":{"image":"~"}}]}]}"#),
        Case(["@.logoURI 1"], #"{"apps":[{"iconURL":"~"}],"tokens":[{"logoURI":"~"}]}"#),
        // The path of a shape leads through this list.
        Case(
            ["$.categories[*].icon 1"],
            #"{"apps":[{"icon":"~"}],"categories":[{"name":"A","icon":"~"}]}"#),
        Case(["$.list[*].icon 1"], #"{"theme":{"icon":"~"},"list":[{"icon":"~"}]}"#),
        Case(["$.icons[*].src 2"], #"{"apps":[{"icon":"~"}],"icons":[{"src":"~"},{"src":"~"}]}"#),
        // Lists whose keys do not suggest icons.
        Case(["$.old[*].url 2"], #"{"apps":[{"icon":"~"}],"old":[{"url":"~"},{"url":"~"}]}"#),
        Case(["$.more[*] 3"], #"{"more":["~","~","~"],"apps":[{"icon":"~"}]}"#),
        Case(
            ["$.more.a[*].file 2"],
            #"{"apps":[{"icon":"~"}],"more":{"a":[{"file":"~?v=1"},{"file":"img/b.webp"}]}}"#),
        Case(
            ["@.more[*].url 2"],
            #"{"a":{"icon":"~","more":[{"url":"~"},{"url":"~"}]},"b":{"icon":"~"}}"#),
        Case([], #"{"apps":[{"icon":"~"}],"old":[{"url":"~"}],"site":{"url":"~","more":"~"}}"#),
        Case(
            [],
            #"{"apps":[{"icon":"~"}],"links":["https://a.example/","https://a.example/1.html"]}"#),
        Case(
            [],
            #"{"apps":[{"icon":"~","screenshots":["~","~"],"images":["~","~"]}],"news":["~","~"],"previews":[{"url":"~"},{"url":"~"}]}"#
        ),
        // Other members of entries.
        Case(["@.logo 1", "@.iconURL 1"], #"[{"icon":"~"},{"logo":"~"},{"iconURL":"~"}]"#),
        Case(["@.pic 1"], #"[{"icon":"~"},{"name":"A","pic":"~"}]"#),
        Case(["@.logo 1"], #"[{"icon":"~","logo":"~","download":"~","image":"~"}]"#),
        Case(["@.apps[*].icon 2"], #"[{"icon":"~","apps":[{"icon":"~"},{"icon":"~"}]}]"#),
        Case(["$.packages[*].icon 1"], #"{"name":"A","icon":"~","packages":[{"icon":"~"}]}"#),
        Case(["@.icon.url 1"], #"[{"icon":"~"},{"icon":{"url":"~"}}]"#),
        Case(
            ["@.groups[*].icon 1"], #"{"a":{"icon":"~","groups":[{"icon":"~"}]},"b":{"icon":"~"}}"#),
        // The icon of the list itself, and images that are not icons.
        Case(
            [],
            #"{"iconURL":"~","apps":[{"iconURL":"~","screenshotURLs":["~"]}],"news":[{"imageURL":"~"}]}"#
        ),
        Case([], #"{"icon":{"url":"~"},"apps":[{"icon":"~"}],"banner":{"image":"~"}}"#),
        Case(
            [],
            #"{"repo":{"address":"https://a.example/","icon":"r.png"},"apps":[{"packageName":"p","icon":"a.png"}]}"#
        ),
        Case([], #"{"feed":{"icon":"~","results":[{"name":"A","artworkUrl100":"~"}]}}"#),
        Case([], #"[{"icon":"~","screenshots":[{"image":"~"}],"page":"https://a.example/"}]"#),
        Case([], #"{"name":"A","icons":[{"src":"~"}],"icons_localized":{"de":[{"src":"~"}]}}"#),
        Case([], "https://a.example/1.png\n#logo\nhttps://a.example/2.png"),
    ]

    @Test(arguments: cases) func unreadIconsAreCountedWithTheirPlaces(_ given: Case) throws {
        for text in [given.text, given.text.replacing(",\"", with: ",\n \"")] {
            let reading = try readManifest(text)
            #expect(Set(reading.unread) == Set(given.unread), "\(text)")
            let counts = given.unread.compactMap {
                $0.split(separator: " ").last.flatMap { Int($0) }
            }
            #expect(reading.unreadCount == counts.reduce(0, +))
        }
    }

    @Test func unreadIconsInPropertyListsAreCounted() throws {
        let object: [String: Any] = [
            "apps": [["icon": Self.url]], "games": [["icon": Self.url], ["icon": Self.url]],
            "other": ["date": Date(timeIntervalSince1970: 0), "list": [1, 2.5, true]],
        ]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: object, format: format, options: 0)
            let reading = try readManifest(.bytes(Array(data), name: "test"))
            #expect(reading.words == [Self.url])
            #expect(reading.unread == ["$.games[*].icon 2"])
        }
    }

    @Test func skippedValuesNeedNotBeValid() throws {
        let text = xmlPlist(
            """
            <dict><key>x</key><array><integer>one</integer><string>y</string></array>
            <key>z</key><array><dict><string>no key</string></dict></array>
            <key>apps</key><array><dict><key>icon</key><string>\(Self.url)</string></dict></array>
            </dict>
            """)
        #expect(try readManifest(text).words == [Self.url])
    }

    /// A user who names places has already chosen the icons.
    @Test func namedPlacesHaveNoUnreadIcons() throws {
        let text =
            #"{"apps":[{"icon":"\#(Self.url)","logo":"\#(Self.url)"}],"games":[{"icon":"\#(Self.url)"}]}"#
        var rules = ManifestRules()
        rules.iconKeys = ["icon"]
        #expect(try readManifest(text, rules: rules).unread == ["$.games[*].icon 1"])
        rules.entries = ["apps"]
        #expect(try readManifest(text, rules: rules).unread == [])
        rules.iconKeys = []
        #expect(try readManifest(text, rules: rules).unread == ["@.logo 1"])
    }

    @Test func allUnreadIconsAreCountedAndSomePlacesKept() throws {
        let members = (0..<100).map { #""list\#($0)":[{"icon":"\#(Self.url)"}]"# }
        let reading = try readManifest(
            #"{"apps":[{"icon":"\#(Self.url)"}],\#(members.joined(separator: ","))}"#)
        #expect(reading.unreadCount == 100)
        #expect(reading.unread.count == 16)
    }

    @Test func aSecondListBeyondTheEntryLimitIsCounted() throws {
        let entry = #"{"icon":"\#(Self.url)"}"#
        let list = Array(repeating: entry, count: 1_000).joined(separator: ",")
        let reading = try readManifest(
            #"{"apps":[\#(entry)],"games":[\#(list)]}"#,
            limits: ManifestLimits(maximumEntrySize: 1_000))
        #expect(reading.unread == ["$.games[*].icon 1000"])
    }
}
