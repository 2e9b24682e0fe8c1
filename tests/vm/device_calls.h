/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/** Cases of the device that move messages. */
#ifndef M0_TESTS_VM_DEVICE_CALLS_H
#define M0_TESTS_VM_DEVICE_CALLS_H

void operations_need_few_calls(void **state);
void memory_goes_while_data_move(void **state);

#endif /* M0_TESTS_VM_DEVICE_CALLS_H */
