// Reports locks and unlocks of a contended Mutex (Synchronization) to the thread sanitizer. Swift
// inlines the uncontended cases into the caller, where the sanitizer sees them. These three
// functions are in Swift's library, which is not compiled for the sanitizer. Preloaded by
// Scripts/sanitize.
// Source: swift/stdlib/public/Synchronization/Mutex/LinuxImpl.swift of Swift 6.3.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>

__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

#define HANDLE "$s15Synchronization12_MutexHandleV"
#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context)) void *self

SWIFT void lock_slow(uint32_t thread, SELF) __asm__(HANDLE "9_lockSlowyys6UInt32VF");
SWIFT bool try_lock_slow(SELF) __asm__(HANDLE "12_tryLockSlowSbyF");
SWIFT void unlock_slow(SELF) __asm__(HANDLE "11_unlockSlowyyF");

static void *original(const char *name) { return dlsym(RTLD_NEXT, name); }

SWIFT void lock_slow(uint32_t thread, SELF) {
    SWIFT void (*lock)(uint32_t, SELF) = original(HANDLE "9_lockSlowyys6UInt32VF");
    lock(thread, self);
    if (__tsan_acquire) __tsan_acquire(self);
}

SWIFT bool try_lock_slow(SELF) {
    SWIFT bool (*lock)(SELF) = original(HANDLE "12_tryLockSlowSbyF");
    bool locked = lock(self);
    if (locked && __tsan_acquire) __tsan_acquire(self);
    return locked;
}

SWIFT void unlock_slow(SELF) {
    SWIFT void (*unlock)(SELF) = original(HANDLE "11_unlockSlowyyF");
    if (__tsan_release) __tsan_release(self);
    unlock(self);
}
