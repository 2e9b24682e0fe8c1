# SPDX-License-Identifier: Apache-2.0 OR MIT
# shows: the kernel of --debug reports faults that a module makes, and the judge sees them
# seconds: 20
# module: tests/kernel/fault
# reports: lockdep sleeping WARNING leak KASAN tainted

# KASAN's report turns lockdep off, so it is the last.
for what in lockdep sleeping WARNING leak KASAN; do
    if insmod /own/colibri_fault.ko what=$what 2>/tmp/refused; then exit 1; fi
done
