/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the plugin uses of QEMU's plugin interface. Debian has no package with
 * QEMU's own qemu-plugin.h.
 *
 * QEMU_PLUGIN_API is the version of the interface: 1 up to QEMU 8.2, 2 in 9.0,
 * and 3 from 9.1, which later ones accept. Here they differ in the function
 * that returns the bytes of an instruction.
 */
#ifndef QEMU_PLUGIN_H
#define QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <linux/types.h>

#define EXPORTED		__attribute__((visibility("default")))

#define QEMU_PLUGIN_CB_NO_REGS	0
#define QEMU_PLUGIN_MEM_RW	3

struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_plugin_hwaddr;

struct qemu_info {
	const char *target_name;
	struct {
		int min;
		int cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus;
		int max_vcpus;
	} system;
};

EXPORTED int qemu_plugin_install(__u64 id, const struct qemu_info *info,
				 int argc, char **argv);

void qemu_plugin_register_vcpu_tb_trans_cb(__u64 id,
					   void (*cb)(__u64 id,
						      struct qemu_plugin_tb *tb));
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
					  void (*cb)(unsigned int cpu, void *data),
					  int flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *insn,
				      void (*cb)(unsigned int cpu, __u32 info,
						 __u64 vaddr, void *data),
				      int flags, int rw, void *data);
bool qemu_plugin_mem_is_store(__u32 info);
unsigned int qemu_plugin_mem_size_shift(__u32 info);
/* In the callback alone. */
struct qemu_plugin_hwaddr *qemu_plugin_get_hwaddr(__u32 info, __u64 vaddr);
bool qemu_plugin_hwaddr_is_io(const struct qemu_plugin_hwaddr *at);
__u64 qemu_plugin_hwaddr_phys_addr(const struct qemu_plugin_hwaddr *at);
void qemu_plugin_register_atexit_cb(__u64 id, void (*cb)(__u64 id, void *data),
				    void *data);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
__u64 qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *tb,
						 size_t i);
__u64 qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *insn);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *insn);
#if QEMU_PLUGIN_API >= 3
size_t qemu_plugin_insn_data(const struct qemu_plugin_insn *insn, void *to,
			     size_t size);
#else
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *insn);
#endif

#endif /* QEMU_PLUGIN_H */
