import Foundation
import Testing

@testable import LarderCore
@testable import LarderManifest

/// Icon URLs in manifests: placeholders, gateways and data URLs.
@Suite struct IconURLsTests {
    private func read(_ icon: String, _ rules: ManifestRules = .init()) throws -> ManifestReading {
        try readManifest(
            String(
                decoding: JSONSerialization.data(withJSONObject: [["icon": icon]]), as: UTF8.self),
            rules: rules)
    }

    @Test func sizePlaceholdersAreFilledIn() throws {
        var rules = ManifestRules()
        let icon = "https://a.example/{width}x{height}/{size}/{w}x{h}bb.png"
        #expect(try read(icon, rules).words == ["https://a.example/512x512/512/512x512bb.png"])
        rules.iconSize = 96
        #expect(try read(icon, rules).words == ["https://a.example/96x96/96/96x96bb.png"])
    }

    @Test(arguments: [
        ("{w{h}{size", "{w9{size"), ("{w}{w}é{h}", "99é9"), ("{W}{id}", "{W}{id}"),
        ("%7Bw%7D/%DE%size%20x", "%7Bw%7D/%DE%size%20x"), ("$w}{", "$w}{"), ("{{w}", "{9"),
        ("{w}/%C3%A9%20", "9/%C3%A9%20"),
    ])
    func onlyCompletePlaceholdersAreFilledIn(path: String, filled: String) throws {
        var rules = ManifestRules(baseURL: try HTTPURL("http://a"))
        rules.iconSize = 9
        let url = try HTTPURL("/?\(filled)", relativeTo: rules.baseURL)
        #expect(try read("?\(path)", rules).words == [url.string])
    }

    @Test(arguments: [
        "{w}x{h}{c}.{f}", "a.{f}", "%size%/a", "{{w}}", "{{ .Values.icon }}", "${size}",
        "${HOST}/a", "{size}/{name}", "{id}/{w}", "{w}/%theme%/a", "%25/%size%", "a$/{f}",
        "{\tc}/a", "a/%wid\nth%", "$\r\n{HOST}/a", "{\n{ icon }}",
    ])
    func anUnsupportedPlaceholderMakesATemplate(path: String) throws {
        let rules = ManifestRules(baseURL: try HTTPURL("https://b.example/"))
        for icon in ["https://a.example/\(path)", path] {
            #expect(try read(icon).words == ["template"], "\(icon)")
            #expect(try read(icon, rules).words == ["template"], "\(icon)")
        }
    }

    @Test(arguments: [("{{", "}}"), ("${", "}")])
    func aLongPlaceholderMakesATemplate(open: String, close: String) throws {
        for length in [130, 4_000] {
            let icon =
                "https://a.example/" + open + String(repeating: "x", count: length) + close + "/a"
            #expect(try read(icon).words == ["template"])
        }
    }

    /// The base of an F-Droid index.
    @Test(arguments: [
        "https://a.example/{f}/repo", "https://${HOST}/repo", "https://a.example/%size%",
    ])
    func aBaseWithAPlaceholderResolvesNoIcons(base: String) throws {
        let index = """
            {"repo":{"address":"\(base)"},"apps":[
            {"packageName":"p","icon":"a.png"},{"packageName":"q","icon":"https://b.example/a.png"}]}
            """
        let reading = try readManifest(index)
        #expect(reading.words == ["relative", "https://b.example/a.png"])
        // A base given by the user replaces the base of the index.
        #expect(
            try readManifest(index, base: "https://c.example/").words == [
                "https://c.example/icons/a.png", "https://b.example/a.png",
            ])
    }

    @Test func aSizePlaceholderInABaseIsFilledIn() throws {
        let index =
            #"{"repo":{"address":"https://a.example/{w}"},"apps":[{"packageName":"p","icon":"a.png"}]}"#
        let words = try readManifest(index).words
        #expect(words.count == 1 && words[0].hasPrefix("https://a.example/512/"), "\(words)")
    }

    /// Unclosed braces used to take quadratic time.
    @Test func unclosedBracesAreNotPlaceholders() throws {
        for braces in ["{", "${", "%a"] {
            let icon = "https://a.example/?" + String(repeating: braces, count: 2_000)
            #expect(try read(icon).words != ["template"])
        }
    }

    /// In a lock file, a text that depends on a base would become the URL of another host.
    @Test(arguments: [
        ("http:b.png", nil), ("HTTP:/b.png", nil), ("http:\\b.png", nil), ("http:", nil),
        ("https:b.example/c", "https:b.example/c"), ("http:///b/c", "http:///b/c"),
        ("HTTP:\\\\b\\c", "HTTP:\\\\b\\c"), ("http://b/é", "http://b/é"),
    ])
    func spellingsDoNotDependOnABase(icon: String, spelling: String?) throws {
        let rules = ManifestRules(baseURL: try HTTPURL("http://a.example/x/"))
        let entry = try #require(try read(icon, rules).entries.first)
        #expect(entry.spelling == spelling)
        #expect(try HTTPURL(entry.writtenURL) == entry.icon)
    }

    @Test(arguments: [
        ("https://g.example", "ipfs://Qm1/a b.png", "https://g.example/ipfs/Qm1/a%20b.png"),
        ("https://g.example/", "ipfs://Qm1", "https://g.example/ipfs/Qm1"),
        ("https://g.example/ipfs/", "IPFS://ipfs/Qm1/x", "https://g.example/ipfs/Qm1/x"),
    ])
    func ipfsURLsAreRequestedFromTheGateway(gateway: String, icon: String, url: String) throws {
        var rules = ManifestRules()
        rules.ipfsGateway = try HTTPURL(gateway)
        #expect(
            try read(icon.replacing(" ", with: "%20"), rules).words == [url])
        let item = try #require(try read(icon).items.first)
        guard case .unfetched(.otherScheme) = item.result else {
            Issue.record("\(item)")
            return
        }
        #expect(item.value?.reason.contains("--ipfs-gateway") == true)
    }

    /// The gateway's token remains in the query, and its password is sent with each request.
    @Test func aGatewayMayHaveSecrets() throws {
        var rules = ManifestRules()
        rules.ipfsGateway = try HTTPURL("https://me:pw@g.example/x?token=1")
        for icon in ["ipfs://Qm1/a.png", "ipfs:Qm1/a.png", "ipfs:/ipfs/Qm1/a.png?y#z"] {
            let entry = try #require(try read(icon, rules).entries.first)
            #expect(entry.icon.string == "https://g.example/x/ipfs/Qm1/a.png?token=1")
            #expect(entry.icon.credentials == Credentials(user: "me", password: "pw"))
        }
    }

    /// The location of an index is a directory for its icons, even without a slash at the end.
    @Test(arguments: ["repo", "repo/", "repo?token=1", "repo/?token=1"])
    func theBaseOfAnIndexIsADirectory(path: String) throws {
        let index =
            #"{"repo":{"address":"https://a.example"},"apps":[{"packageName":"p","icon":"a.png"}]}"#
        let rules = ManifestRules(baseURL: try HTTPURL("https://me:pw@b.example/\(path)"))
        let entry = try #require(
            try readManifest(.bytes(Array(index.utf8), name: "i"), rules: rules).entries.first)
        #expect(entry.icon.string == "https://b.example/repo/icons/a.png")
        #expect(entry.icon.credentials == Credentials(user: "me", password: "pw"))
    }

    @Test(arguments: [
        ("data:image/svg+xml,%3Csvg/%3E", "<svg/>"), ("data:,a%20b", "a b"), ("DATA:,x", "x"),
        ("data:image/png;base64,YWJj", "abc"), ("data:;charset=utf-8;base64,YQ==", "a"),
        ("data:;base64,YQ", "a"), ("data:;base64,YW%4Aj\nYQ%3D%3D", "abca"), ("data:,", ""),
        (" \r\n data:image/png;base64,\n  YW\t Jj\n  ", "abc"), ("da\nta:,a\tb c", "ab c"),
        ("data:image/png ;  BASE64 ,YWJj", "abc"), ("data:;base64,YWJj#,x", "abc"),
        ("data:,a#b", "a"), ("data:,a?b,c", "a?b,c"), ("data:,%zz%a%+1%4", "%zz%a%+1%4"),
        ("data:;base64x,YWJj", "YWJj"), ("data:base64,YWJj", "YWJj"),
        ("data:;base64,YQ%0A=%20=", "a"),
    ])
    func dataURLsAreDecoded(icon: String, content: String) throws {
        let items = try read(icon).items
        guard case .inline(let entry)? = items.first?.result else {
            Issue.record("\(items)")
            return
        }
        #expect(entry.bytes == Array(content.utf8))
        #expect(entry.resourceKey.hasPrefix("ni:///sha-256;") && entry.resourceKey.utf8.count == 57)
    }

    @Test(arguments: [
        "data:", "data:;base64", "data:;base64,Y!", "data:;base64,Y",
        "data:;base64,YWJj=", "data:;base64,YQ=", "data:;base64,Y%zz", "data:;base64,YW-_",
        "data:#,",
    ])
    func malformedDataURLsAreNotFetched(icon: String) throws {
        let reading = try read(icon)
        #expect(reading.words == ["data"])
        #expect(reading.items.first?.value?.reason.contains("not a valid data: URL") == true)
    }

    /// RFC 6920, section 8.1.
    @Test func theKeyOfADataURLIsTheDigestOfItsContent() throws {
        let words = try read("data:,Hello%20World!").words
        #expect(words == ["ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"])
    }
}
