// SPDX-License-Identifier: GPL-2.0
/*
 * What memory cgroup slab reclaim in Rust asks of C: a slab cache, its boot
 * parameter, and warnings, whose "once" state needs a place of its own.
 */
#define pr_fmt(fmt) "mm_reclaim: " fmt

#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/memory.h>
#include <linux/mm_reclaim.h>
#include <linux/node.h>
#include <linux/nodemask.h>
#include <linux/shrinker.h>
#include <linux/slab.h>
#include <linux/vmstat.h>

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include <trace/events/mm_reclaim.h>

static struct kmem_cache *shrinker_unit_cachep;

struct shrinker_memcg_bitmap *shrinker_memcg_bitmaps[MAX_NUMNODES] __ro_after_init;
struct shrinker_memcg_bitmap *lru_memcg_bitmaps[MAX_NUMNODES] __ro_after_init;
static_assert(SHRINKER_MEMCG_IDS == 1 << MEM_CGROUP_ID_SHIFT);

/* The nodes on which objects can be. Nodes are added, but never taken away. */
static nodemask_t shrinker_nodes __read_mostly;

/* One of them, and always the same: see shrinker_home_node(). */
static int shrinker_home __read_mostly;

unsigned long shrinker_nodes_word(unsigned int at)
{
	return READ_ONCE(nodes_addr(shrinker_nodes)[at]);
}

/**
 * set_shrinker_bit - note that a memcg has an object of a shrinker
 * @memcg: the memcg; NULL stands for the root
 * @nid: the node on which the object is
 * @shrinker_id: the id of the shrinker; nothing is done if it is negative
 *
 * The caller has made the object visible to count_objects() before.
 *
 * Context: RCU read-side critical section, such as that of the lock of a list_lru;
 * interrupts may be off.
 */
void set_shrinker_bit(struct mem_cgroup *memcg, int nid, int shrinker_id)
{
	if (shrinker_id < 0)
		return;

	/*
	 * Orders the object before the bit in the unit is read. Pairs with the barrier in
	 * MapOnNode::clear(). In Rust it would be a call.
	 */
	smp_mb();
	set_shrinker_bit_after_mb(memcg, nid, shrinker_id);
}

/**
 * shrinker_home_node - the node that stands for those without units
 *
 * Deferred work of shrinkers that are not SHRINKER_NUMA_AWARE belongs to no node.
 * C keeps it with node 0, which may have no memory, and so no units here. If it
 * was kept with the first node that has memory now, it would be forgotten as soon
 * as another one is the first: hence with the one that was the first at boot.
 *
 * Context: Any.
 * Return: a node on which the root has its units.
 */
int shrinker_home_node(void)
{
	return shrinker_home;
}

/**
 * shrinker_add_node - prepare all memcgs for objects on a node
 * @nid: a node that had no memory, and is about to get some
 *
 * From here on, units that are wanted on all nodes are installed on it too; those
 * that were installed before are completed here. It may be added in vain, which costs
 * the memory of its units.
 *
 * Context: May sleep.
 * Return: 0 or -ENOMEM.
 */
int shrinker_add_node(int nid)
{
	node_set(nid, shrinker_nodes);
	/* Pairs with the publication of a table, see Map::install(). */
	smp_mb__after_atomic();
	return install_shrinker_node(nid);
}

static int shrinker_node_callback(struct notifier_block *nb,
				  unsigned long action, void *arg)
{
	struct node_notify *node = arg;

	if (action != NODE_ADDING_FIRST_MEMORY)
		return NOTIFY_OK;

	return notifier_from_errno(shrinker_add_node(node->nid));
}

#ifdef CONFIG_MEMCG_SHRINKER_RUST_KUNIT_TEST
/*
 * As if there was no memory there at boot. The home may be elsewhere from then on;
 * it stays if it was the only node, as there must be one.
 */
void shrinker_forget_node(int nid)
{
	node_clear(nid, shrinker_nodes);
	if (!nodes_empty(shrinker_nodes))
		shrinker_home = first_node(shrinker_nodes);
}
#endif

/**
 * memcg_lru_is_empty - whether no list of a memcg on a node has a page
 * @memcg: the memcg
 * @nid: the node
 *
 * The generations of the multi-gen LRU, which has no such sizes, are other lists.
 *
 * Context: Any. The answer lasts if the lru_lock is held.
 * Return: whether all sizes are zero.
 */
bool memcg_lru_is_empty(struct mem_cgroup *memcg, int nid)
{
	struct mem_cgroup_per_node *pn = memcg->nodeinfo[nid];

	/* Without the lock, it may be wrong. */
	return !data_race(memchr_inv(pn->lru_zone_size, 0, sizeof(pn->lru_zone_size)));
}

/**
 * memcg_lock_lru - lock the lists of a memcg on a node
 * @memcg: the memcg
 * @nid: the node
 *
 * Context: No lru_lock is held, and interrupts are on.
 */
void memcg_lock_lru(struct mem_cgroup *memcg, int nid)
{
	spin_lock_irq(&memcg->nodeinfo[nid]->lruvec.lru_lock);
}

/**
 * memcg_unlock_lru - unlock the lists of a memcg on a node
 * @memcg: the memcg
 * @nid: the node
 *
 * Context: After memcg_lock_lru().
 */
void memcg_unlock_lru(struct mem_cgroup *memcg, int nid)
{
	spin_unlock_irq(&memcg->nodeinfo[nid]->lruvec.lru_lock);
}

static struct shrinker_memcg_bitmap * __init memcg_bitmap_alloc(int nid)
{
	return kvzalloc_node(sizeof(struct shrinker_memcg_bitmap), GFP_KERNEL | __GFP_NOFAIL,
			     node_online(nid) ? nid : NUMA_NO_NODE);
}

/*
 * Called before the first css_alloc, and so before the first unit. Not merged
 * with others, so that /proc/slabinfo tells what the maps cost.
 */
void __init mm_reclaim_init(void)
{
	int nid;

	/* Where there is no memory yet, there may be some later. */
	for_each_node(nid) {
		shrinker_memcg_bitmaps[nid] = memcg_bitmap_alloc(nid);
		lru_memcg_bitmaps[nid] = memcg_bitmap_alloc(nid);
	}
	shrinker_unit_cachep = kmem_cache_create("shrinker_unit",
						 SHRINKER_UNIT_SIZE,
						 __alignof__(long),
						 SLAB_PANIC | SLAB_NO_MERGE, NULL);
	shrinker_nodes = node_states[N_MEMORY];
	shrinker_home = first_node(shrinker_nodes);
	hotplug_node_notifier(shrinker_node_callback, DEFAULT_CALLBACK_PRI);
}

void *shrinker_unit_zalloc(gfp_t gfp, int nid)
{
	return kmem_cache_alloc_node(shrinker_unit_cachep, gfp | __GFP_ZERO, nid);
}

void shrinker_unit_free(void *unit)
{
	kmem_cache_free(shrinker_unit_cachep, unit);
}

/**
 * count_shrinker_walk - count a walk of a memcg that called shrinkers for their bits
 * @bits: how many shrinkers were called
 * @spurious: how many of them had nothing
 *
 * Context: Any.
 */
void count_shrinker_walk(unsigned long bits, unsigned long spurious)
{
	count_vm_event(SHRINKER_MEMCG_WALK);
	count_vm_events(SHRINKER_BIT_VISIT, bits);
	if (spurious)
		count_vm_events(SHRINKER_BIT_SPURIOUS, spurious);
}

void shrinker_warn_missing_unit(struct mem_cgroup *memcg, int nid, int shrinker_id)
{
	WARN_ONCE(1, "memcg %llu node %d: no unit for shrinker %d\n",
		  mem_cgroup_id(memcg), nid, shrinker_id);
}

#ifdef CONFIG_MEMCG_SHRINKER_RUST_VERIFY
void shrinker_warn_not_empty(struct mem_cgroup *memcg, int nid,
			     struct shrinker *shrinker, unsigned long count)
{
#ifdef CONFIG_SHRINKER_DEBUG
	const char *name = shrinker->name;
#else
	const char *name = "";
#endif

	WARN(1, "memcg %llu node %d: the bit of shrinker %d %s (%ps) is clear, but it counts %lu objects%s\n",
	     mem_cgroup_id(memcg), nid, shrinker->id, name,
	     shrinker->count_objects, count, mem_cgroup_is_root(memcg) ?
	     " (of the root: did it return SHRINK_EMPTY, and not 0, before?)" : "");
}

void shrinker_warn_unlisted(struct mem_cgroup *memcg, int nid)
{
	WARN(1, "memcg %llu node %d: has a bit set, but walks of all memcgs pass over it\n",
	     mem_cgroup_id(memcg), nid);
}

void memcg_warn_lru_unlisted(struct mem_cgroup *memcg, int nid)
{
	WARN(1, "memcg %llu node %d: has pages, but global reclaim passes over it\n",
	     mem_cgroup_id(memcg), nid);
}
#endif /* CONFIG_MEMCG_SHRINKER_RUST_VERIFY */
