import LarderCache
import LarderHTTP
import LarderTestSupport
import Testing

@testable import LarderImages
@testable import LarderManifest
@testable import LarderPrefetch

/// The words of `docs/output.md` against those that there are.
@Suite struct OutputWordsTests {
    private let document: OutputDocument

    init() throws { document = try OutputDocument() }

    @Test func words() throws {
        #expect(
            try document.table("Outcomes", "outcome").words
                == EntryResult.Outcome.allCases.map(\.rawValue))
        let entries = try document.table("Codes of entries that cannot be used", "code").words
        #expect(
            Set(entries)
                == Set(EntryError.Code.allCases.map(\.rawValue)).union([
                    "no-icon", EntryFailure.notFailedBefore.code, EntryFailure.offline.code,
                ]))
        let transfers = try document.table("Codes of transfers that failed", "code").words
        let bodies = try document.table("Codes of bodies that are refused", "code").words
        let expected =
            TransferError.Code.allCases.map(\.rawValue) + ImageFault.Code.allCases.map(\.rawValue)
            + ResourceFailure.Reason.allCases.map(\.rawValue) + ["http-<status>"]
        #expect(Set(transfers + bodies) == Set(expected))
        let remotes = try document.table("Codes of remotes", "code").words
        #expect(remotes == RemoteError.Code.allCases.map(\.rawValue))
        let caches = try document.table("Codes of caches", "code").words
        #expect(Set(caches) == Set(CacheError.Code.allCases.map(\.rawValue)))
    }

    /// What the page marks as tried again is what is tried again.
    @Test func transientCodes() throws {
        let table = try document.table("Codes of transfers that failed", "code")
        for code in TransferError.Code.allCases {
            let failure = ResourceFailure(TransferError(code: code, message: ""))
            let isMarked = table.cell(code.rawValue, "meaning")?.hasPrefix("+ ") == true
            #expect(failure.isTransient == isMarked, "\(code.rawValue)")
        }
        let bodies = try document.table("Codes of bodies that are refused", "code")
        for reason in ResourceFailure.Reason.allCases {
            let meaning =
                table.cell(reason.rawValue, "meaning") ?? bodies.cell(reason.rawValue, "meaning")
            let isMarked = meaning?.hasPrefix("+ ") == true
            #expect(ResourceFailure(reason, "").isTransient == isMarked, "\(reason.rawValue)")
        }
        let statuses = (400...599).filter { ResourceFailure(status: $0).isTransient }
        #expect(statuses == RetryPolicy.retriedStatuses.sorted())
        let meaning = try #require(table.cell("http-<status>", "meaning"))
        let stated = meaning.split { !$0.isNumber }.compactMap { Int($0) }
        #expect(statuses == stated)
    }

    @Test func exitStatuses() throws {
        let help = try LarderBinary().run(["--help"]).standardOutput
        let stated = help.matches(of: /(?m)^  (\d+)[ ]/).map { String($0.output.1) }
        #expect(try document.table("Exit status", "status").words == stated)
    }
}
