/* SPDX-License-Identifier: GPL-2.0 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mm_reclaim

#if !defined(_TRACE_MM_RECLAIM_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_MM_RECLAIM_H

#include <linux/memcontrol.h>
#include <linux/tracepoint.h>

/**
 * mm_reclaim_install - a memcg got units
 * @memcg: the memcg
 * @shrinker_id: the id of a shrinker whose bits are in them; -1 if they are for a new node
 * @nr_units: how many units it has now, on all nodes; if it had some before, its table gave
 *	way to a larger one
 * @bytes: by how much its map has grown
 */
TRACE_EVENT(mm_reclaim_install,
	    TP_PROTO(struct mem_cgroup *memcg, int shrinker_id, unsigned long nr_units,
		     long bytes),
	    TP_ARGS(memcg, shrinker_id, nr_units, bytes),

	    TP_STRUCT__entry(__field(u64, memcg_id)
			     __field(int, shrinker_id)
			     __field(unsigned long, nr_units)
			     __field(long, bytes)),

	    TP_fast_assign(__entry->memcg_id = mem_cgroup_id(memcg);
			   __entry->shrinker_id = shrinker_id;
			   __entry->nr_units = nr_units;
			   __entry->bytes = bytes;),

	    TP_printk("memcg_id=%llu shrinker_id=%d nr_units=%lu bytes=%ld",
		      __entry->memcg_id, __entry->shrinker_id, __entry->nr_units,
		      __entry->bytes));

/**
 * mm_reclaim_list - a memcg that was idle has something to shrink on a node
 * @memcg: the memcg
 * @nid: the node
 */
TRACE_EVENT(mm_reclaim_list,
	    TP_PROTO(struct mem_cgroup *memcg, int nid),
	    TP_ARGS(memcg, nid),

	    TP_STRUCT__entry(__field(u64, memcg_id)
			     __field(int, nid)),

	    TP_fast_assign(__entry->memcg_id = mem_cgroup_id(memcg);
			   __entry->nid = nid;),

	    TP_printk("memcg_id=%llu nid=%d", __entry->memcg_id, __entry->nid));

/**
 * mm_reclaim_walk - a walk of one memcg on a node called shrinkers for their bits
 * @memcg: the memcg
 * @nid: the node
 * @visited: how many it called
 * @spurious: how many of them had nothing
 * @freed: how many objects the others freed
 */
TRACE_EVENT(mm_reclaim_walk,
	    TP_PROTO(struct mem_cgroup *memcg, int nid, unsigned long visited,
		     unsigned long spurious, unsigned long freed),
	    TP_ARGS(memcg, nid, visited, spurious, freed),

	    TP_STRUCT__entry(__field(u64, memcg_id)
			     __field(int, nid)
			     __field(unsigned long, visited)
			     __field(unsigned long, spurious)
			     __field(unsigned long, freed)),

	    TP_fast_assign(__entry->memcg_id = mem_cgroup_id(memcg);
			   __entry->nid = nid;
			   __entry->visited = visited;
			   __entry->spurious = spurious;
			   __entry->freed = freed;),

	    TP_printk("memcg_id=%llu nid=%d visited=%lu spurious=%lu freed=%lu",
		      __entry->memcg_id, __entry->nid, __entry->visited, __entry->spurious,
		      __entry->freed));

#endif /* _TRACE_MM_RECLAIM_H */

/* This part must be outside protection */
#include <trace/define_trace.h>
