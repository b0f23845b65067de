import Foundation
import LarderTestSupport
import Testing

/// The packages that `Scripts/setup` finds missing.
@Suite struct SetupTests {
    private static let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Scripts/setup").standardizedFileURL.path

    /// Runs the script as a user of a system that can build Larder, and has no other programs.
    private func setUp(_ options: String...) throws -> Finished {
        try withTemporaryDirectory { directory in
            let system = """
                mkdir "$0"
                ln -s "$(command -v dirname)" "$0/dirname"
                printf '#!/bin/sh\\necho Linux\\n' > "$0/uname"
                printf '#!/bin/sh\\necho 1000\\n' > "$0/id"
                for program in swift pkg-config apt-get; do
                    printf '#!/bin/sh\\n' > "$0/$program"
                done
                chmod +x "$0"/*
                PATH=$0
                exec /bin/sh "$@"
                """
            let arguments = ["-c", system, directory.path("bin"), Self.script] + options
            return try RunningProcess("/bin/sh", arguments).wait()
        }
    }

    @Test func theBuildNeedsNoOtherPrograms() throws {
        let finished = try setUp()
        #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
    }

    @Test func thePackagesNeedThePrograms() throws {
        let finished = try setUp("--packages")
        #expect(finished.status == 1)
        #expect(
            finished.standardError.contains(
                "apt-get install --yes --no-install-recommends"
                    + " dpkg-dev binutils chrpath gcc make python3"
                    + " libssl-dev libnghttp2-dev libidn2-dev libunistring-dev'\n"),
            "\(finished)")
    }
}
