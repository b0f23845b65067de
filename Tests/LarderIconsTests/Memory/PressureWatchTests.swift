#if os(Linux)
    import Foundation
    import LarderCache
    import LarderIcons
    import LarderTestSupport
    import Testing

    /// The thread that waits for memory pressure on Linux.
    @Suite struct PressureWatchTests {
        @Test func whatHappensIsReported() {
            let source = MemoryPressure()
            let reports = Reports()
            let observation = source.observe { reports.add($0) }
            source.watch(
                [ScriptedInput(.levels([.warning, .critical]))], interval: .milliseconds(1))
            for level in [MemoryPressure.Level.warning, .critical, .warning] {
                #expect(reports.next() == level)
            }
            withExtendedLifetime(observation) {}
        }

        @Test func theWorstOfSeveralIsReportedOnce() {
            let source = MemoryPressure()
            let reports = Reports()
            let observation = source.observe { reports.add($0) }
            source.watch(
                [
                    ScriptedInput(.levels([.warning])), ScriptedInput(.levels([.critical])),
                    ScriptedInput(.levels([.warning])),
                ],
                interval: .milliseconds(1))
            for _ in 0..<10 { #expect(reports.next() == .critical) }
            withExtendedLifetime(observation) {}
        }

        /// Limits may be reached thousands of times a second: without a pause, a cache that gives up
        /// half at each is empty at once, and a core is busy.
        @Test func reportsAreAtLeastAnIntervalApart() {
            let source = MemoryPressure()
            let reports = Reports()
            let observation = source.observe { reports.add($0) }
            let start = ContinuousClock.now
            source.watch([ScriptedInput(.levels([.warning]))], interval: .milliseconds(100))
            for _ in 0..<6 { #expect(reports.next() == .warning) }
            #expect(ContinuousClock.now - start >= .milliseconds(500))
            withExtendedLifetime(observation) {}
        }

        @Test(arguments: [false, true])
        func theThreadEndsWithItsSource(_ isWaiting: Bool) throws {
            let far: OwnedDescriptor
            weak var gone: MemoryPressure?
            let reports = Reports()
            do {
                let input = ScriptedInput(isWaiting ? .silence : .levels([.warning]))
                far = input.far
                let source = MemoryPressure()
                gone = source
                let observation = source.observe { reports.add($0) }
                source.watch([input], interval: .seconds(3_600))
                if !isWaiting { #expect(reports.next() == .warning) }
                withExtendedLifetime(observation) {}
            }
            #expect(isClosed(beyond: far), "the thread still has the descriptor")
            #expect(gone == nil)
        }

        /// The handler's own release ends the thread that it runs on.
        @Test func aSourceMayBeReleasedByItsHandler() {
            final class Owner: @unchecked Sendable {
                // Unchecked because the test sets it before the thread starts, the handler after.
                var source: MemoryPressure?
                var observation: MemoryPressure.Observation?
            }
            let owner = Owner()
            let far: OwnedDescriptor
            weak var gone: MemoryPressure?
            do {
                let input = ScriptedInput(.levels([.critical]))
                far = input.far
                let source = MemoryPressure()
                gone = source
                owner.source = source
                owner.observation = source.observe { _ in
                    owner.source = nil
                    owner.observation = nil
                }
                source.watch([input], interval: .milliseconds(1))
            }
            #expect(isClosed(beyond: far))
            #expect(gone == nil)
        }

        @Test func anInputThatEndsIsNamedAndTheOthersGoOn() throws {
            let source = MemoryPressure()
            let reports = Reports()
            let observation = source.observe { reports.add($0) }
            let far: OwnedDescriptor
            do {
                let broken = ScriptedInput(.failure)
                far = broken.far
                source.watch(
                    [broken, ScriptedInput(.levels([.warning]))], interval: .milliseconds(1))
            }
            #expect(reports.next() == .warning)
            #expect(reports.next() == .warning)
            let input = try #require(source.inputs.first)
            #expect(input.name == "script" && input.failure?.code == .missing)
            #expect(isClosed(beyond: far))
            withExtendedLifetime(observation) {}
        }

        @Test func theThreadEndsWithItsLastInput() {
            let source = MemoryPressure()
            let far: OwnedDescriptor
            do {
                let input = ScriptedInput(.failure)
                far = input.far
                source.watch([input], interval: .milliseconds(1))
            }
            #expect(isClosed(beyond: far))
            #expect(source.inputs.map(\.failure?.code) == [.missing])
        }

        // MARK: pressure stall information

        /// With a pipe in place of the kernel's file, which shows what is written and that it ends.
        @Test func bothTriggersAreSetAndEndWithTheSource() throws {
            try withTemporaryDirectory { directory in
                var files = PressureFiles()
                files.stalls = directory.path("pipe")
                files.controlGroup = nil
                #expect(mkfifo(files.stalls, 0o600) == 0)
                var source: MemoryPressure? = MemoryPressure()
                source?.watch(files)
                let raw = open(files.stalls, O_RDONLY | O_CLOEXEC)
                let reader = OwnedDescriptor(raw)
                var bytes = [UInt8](repeating: 0, count: 100)
                let count = read(reader.raw, &bytes, bytes.count)
                #expect(
                    String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
                        == "some 200000 2000000\0full 200000 2000000\0")
                #expect(
                    source?.inputs.filter { $0.failure == nil }.map(\.name)
                        == ["\(files.stalls) some", "\(files.stalls) full"])
                source = nil
                #expect(isClosed(beyond: reader))
            }
        }

        /// What poll(2) gives for urgent data of a socket is what it gives for a trigger.
        @Test(arguments: StallTrigger.Stall.allCases)
        func aTriggerThatFiresIsReported(_ stall: StallTrigger.Stall) {
            let input = ScriptedInput(.silence)
            let trigger = StallTrigger(stall, set: input.descriptor, name: "trigger")
            let source = MemoryPressure()
            let reports = Reports()
            let observation = source.observe { reports.add($0) }
            source.watch([trigger], interval: .milliseconds(1))
            // Ordinary data is no sign of anything.
            #expect(send(input.far.raw, "!", 1, 0) == 1)
            guard send(input.far.raw, "!", 1, Int32(MSG_OOB)) == 1 else {
                return  // before Linux 5.15, these sockets have no urgent data
            }
            #expect(reports.next() == (stall == .some ? .warning : .critical))
            withExtendedLifetime(observation) {}
        }

        /// As the kernel does when the control group of a trigger is removed.
        @Test func aTriggerThatTheKernelEndedIsNotPolledForEver() throws {
            let trigger = StallTrigger(
                .some, set: ScriptedInput(.silence).descriptor, name: "trigger")
            #expect(try trigger.level(after: Int16(POLLPRI)) == .warning)
            #expect(throws: CacheError.self) { try trigger.level(after: Int16(POLLERR | POLLPRI)) }
            #expect(throws: CacheError.self) { try trigger.level(after: Int16(POLLHUP)) }
        }

        @Test func aKernelWithoutStallInformationIsNamedAsOne() throws {
            try withTemporaryDirectory { directory in
                var files = PressureFiles()
                files.stalls = directory.path("memory")
                files.controlGroup = nil
                let source = MemoryPressure()
                source.watch(files)
                #expect(source.inputs.count == 3)
                #expect(source.inputs.map(\.failure?.errno) == [ENOENT, ENOENT, nil])
                #expect(source.inputs.allSatisfy { $0.failure != nil })
            }
        }

        /// A file that takes no trigger, as before Linux 6.5 without privileges.
        @Test func aRefusedTriggerIsNamed() throws {
            #expect(throws: CacheError.self) { try StallTrigger(.some, "/dev/full") }
        }

        @Test(.enabled(if: access("/proc/pressure/memory", R_OK | W_OK) == 0))
        func theKernelsOwnFileIsOpenedAndClosed() throws {
            weak var gone: MemoryPressure?
            do {
                let source = MemoryPressure()
                gone = source
                source.watch(PressureFiles())
                let stalls = source.inputs.filter { $0.name.hasPrefix("/proc/pressure/memory") }
                #expect(stalls.count == 2)
                // Other reasons are a kernel's or a container's, and named.
                for failure in stalls.compactMap(\.failure) { #expect(failure.errno != nil) }
            }
            #expect(gone == nil)
        }
    }
#endif
