/* SPDX-License-Identifier: BSD-2-Clause */
/* The lock that processes share: a word that another member has written there holds nobody for
 * ever, not even one that names the process which waits. (With the file itself, for less patience.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <unistd.h>

#define OWN_NAPS 25
#include "base/share/rlock.c"

enum { US = 3, ANOTHER = 4 };

static struct sl_rlock lock;

static uint32_t word_of(uint32_t member)
{
	return member << SL_RLOCK_SHIFT | 12345;
}

static void test_word_of_another(void **state)
{
	lock.word = word_of(ANOTHER);
	assert_false(sl_rlock(&lock, US));
}

static void test_word_names_us(void **state)
{
	lock.word = word_of(US);
	assert_false(sl_rlock(&lock, US));
	lock.word = 0;
	assert_true(sl_rlock(&lock, US));
	sl_runlock(&lock);
}

static void *hold(void *held)
{
	assert_true(sl_rlock(&lock, US));
	sl_store_release((int *)held, 1);
	usleep(60000);
	sl_runlock(&lock);
	return NULL;
}

/* A thread of ours that holds it for longer than another process may. */
static void test_own_thread(void **state)
{
	pthread_t thread;
	int held = 0;

	assert_int_equal(pthread_create(&thread, NULL, hold, &held), 0);
	while (!sl_load_acquire(&held))
		usleep(100);
	assert_true(sl_rlock(&lock, US));
	sl_runlock(&lock);
	pthread_join(thread, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_word_of_another),
		cmocka_unit_test(test_word_names_us),
		cmocka_unit_test(test_own_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
