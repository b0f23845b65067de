#if os(Linux)
    import Foundation
    import LarderCache
    import LarderIcons
    import LarderTestSupport
    import Testing

    /// A control group's `memory.events`, with ordinary files in place of the kernel's.
    @Suite struct MemoryEventsTests {
        /// A group's directory, a source that watches it alone, and what that reports.
        private struct Group {
            let directory: TemporaryDirectory
            let source = MemoryPressure()
            let reports = Reports()
            let observation: MemoryPressure.Observation

            init(in directory: TemporaryDirectory, events: [String: Int] = [:]) throws {
                self.directory = directory
                observation = source.observe { [reports] in reports.add($0) }
                try write(events)
                var files = PressureFiles()
                files.stalls = directory.path("no-such-file")
                files.controlGroup = directory.path
                files.interval = .milliseconds(1)
                source.watch(files)
            }

            /// In one write of always the same length: the kernel's file is never half there.
            func write(_ events: [String: Int]) throws {
                let names = ["low", "high", "max", "oom", "oom_kill", "oom_group_kill"]
                let text = names.map {
                    "\($0) \(String(repeating: "0", count: 9))\(events[$0] ?? 0)\n"
                }.joined()
                let raw = open(directory.path("memory.events"), O_WRONLY | O_CREAT, 0o600)
                try #require(raw >= 0)
                let file = OwnedDescriptor(raw)
                try #require(pwrite(file.raw, text, text.utf8.count, 0) == text.utf8.count)
            }

            func write(used: Int, files: Int) throws {
                try "\(used)\n".write(
                    toFile: directory.path("memory.current"), atomically: true, encoding: .utf8)
                try "anon 5\ninactive_file \(files)\nactive_file 3\n".write(
                    toFile: directory.path("memory.stat"), atomically: true, encoding: .utf8)
            }
        }

        @Test(arguments: [
            ("high", MemoryPressure.Level.warning), ("max", .warning), ("oom", .critical),
            ("oom_kill", .critical),
        ])
        func aLimitThatIsReachedIsReported(_ name: String, _ level: MemoryPressure.Level) throws {
            try withTemporaryDirectory { directory in
                let group = try Group(in: directory, events: [name: 3])
                try group.write([name: 4])
                #expect(group.reports.next() == level)
                try group.write([name: 9])
                #expect(group.reports.next() == level)
            }
        }

        /// What cannot be watched does not take the rest with it.
        @Test func thereAreGroupsWhereThereIsNoStallInformation() throws {
            try withTemporaryDirectory { directory in
                let group = try Group(in: directory)
                #expect(
                    group.source.inputs.filter { $0.failure == nil }.map(\.name)
                        == [directory.path("memory.events")])
                #expect(group.source.inputs.filter { $0.failure != nil }.count == 2)
                try group.write(["high": 1, "oom": 1])
                #expect(group.reports.next() == .critical)
            }
        }

        @Test func whatHappenedBeforeAndWhatIsNotALimitIsNotReported() throws {
            try withTemporaryDirectory { directory in
                let group = try Group(in: directory, events: ["oom": 7, "high": 2])
                var events = try MemoryEvents(of: directory.path)
                try group.write(["oom": 7, "high": 2, "low": 5])
                #expect(try events.level(after: Int16(POLLIN)) == nil)
                try group.write(["oom": 7, "high": 3, "low": 5])
                #expect(try events.level(after: Int16(POLLIN)) == .warning)
                #expect(try events.level(after: Int16(POLLIN)) == nil)
                try group.write(["oom": 8, "high": 4, "low": 5])
                #expect(try events.level(after: Int16(POLLIN)) == .critical)
            }
        }

        /// A group's memory is always full when it reads many files: the kernel drops some, and
        /// nobody needs to give up anything.
        @Test func aLimitReachedByReadingFilesIsNotReported() throws {
            try withTemporaryDirectory { directory in
                let group = try Group(in: directory)
                var events = try MemoryEvents(of: directory.path)
                try group.write(used: 8_000, files: 1_000)
                try group.write(["max": 1, "high": 1])
                #expect(try events.level(after: Int16(POLLIN)) == nil)
                try group.write(["max": 2, "oom": 1])
                #expect(try events.level(after: Int16(POLLIN)) == .critical)
                try group.write(used: 8_000, files: 999)
                try group.write(["max": 3, "oom": 1])
                #expect(try events.level(after: Int16(POLLIN)) == .warning)
            }
        }

        /// Each change is told again; what was told is not, or the thread would never rest.
        @Test func whatWasToldIsTaken() throws {
            try withTemporaryDirectory { directory in
                let group = try Group(in: directory)
                var events = try MemoryEvents(of: directory.path)
                func isReady() -> Bool {
                    var wait = pollfd(
                        fd: events.descriptor.raw, events: events.events, revents: 0)
                    return poll(&wait, 1, 0) == 1
                }
                #expect(!isReady())
                for number in 1...3 {
                    try group.write(["max": number])
                    #expect(isReady())
                    #expect(try events.level(after: events.events) == .warning)
                    #expect(!isReady())
                }
            }
        }

        @Test func aGroupThatIsGoneEndsIt() throws {
            try withTemporaryDirectory { directory in
                _ = try Group(in: directory)
                var events = try MemoryEvents(of: directory.path)
                try FileManager.default.removeItem(atPath: directory.path("memory.events"))
                #expect(throws: CacheError.self) { try events.level(after: Int16(POLLIN)) }
            }
        }

        @Test func aGroupWithoutMemoryEventsIsNamed() throws {
            try withTemporaryDirectory { directory in
                var files = PressureFiles()
                files.controlGroup = directory.path
                files.stalls = directory.path("no-such-file")
                let source = MemoryPressure()
                source.watch(files)
                #expect(source.inputs.map(\.failure?.errno) == [ENOENT, ENOENT, ENOENT])
            }
        }
    }
#endif
