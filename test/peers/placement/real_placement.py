"""A real OpenStack Placement for tests, as a WSGI module (real_placement:application).

As a program it creates the database: real_placement.py prepare; or fills it for benchmarks, by the formulas of
test/bench/placement-data.ts: real_placement.py populate PROVIDERS CONSUMERS. The folder named by
OS_PLACEMENT_CONFIG_DIR contains placement.conf. POST /__reset__ empties a SQLite database except for the standard classes
and traits. PLACEMENT_SRC, folders joined by colons, precedes Debian's packages: a newer checkout of Placement, and of
os-traits and os-resource-classes where it needs them.
"""

import os
import sqlite3
import sys

sys.path[0:0] = [path for path in os.environ.get('PLACEMENT_SRC', '').split(':') if path]

OWN_TABLES = (
    'allocations', 'consumers', 'consumer_types', 'projects', 'users',
    'inventories', 'resource_provider_traits', 'resource_provider_aggregates',
    'placement_aggregates', 'resource_providers')


def configure():
    from oslo_config import cfg
    from oslo_policy import opts as policy_opts
    from placement import conf
    from placement import db_api

    config = cfg.ConfigOpts()
    conf.register_opts(config)
    policy_opts.set_defaults(config)
    file = os.path.join(os.environ['OS_PLACEMENT_CONFIG_DIR'], 'placement.conf')
    config([], project='placement', default_config_files=[file])
    db_api.configure(config)
    return config


def prepare():
    from placement import deploy
    from placement.db.sqlalchemy import migration

    config = configure()
    migration.upgrade('head')
    deploy.update_database(config)


def populate(providers, consumers):
    import sqlalchemy as sa
    from placement.db.sqlalchemy import models

    config = configure()
    engine = sa.create_engine(config.placement_database.connection)
    traits = ['COMPUTE_NODE', 'HW_CPU_X86_AVX', 'HW_CPU_X86_AVX2',
              'HW_CPU_X86_SSE', 'HW_CPU_X86_SSE2', 'HW_NUMA_ROOT']
    stock = ((0, 32, 0, 16.0), (1, 131072, 512, 1.0), (2, 2000, 0, 1.0))

    def insert(model, rows):
        with engine.begin() as connection:
            for at in range(0, len(rows), 5000):
                connection.execute(model.__table__.insert(), rows[at:at + 5000])

    with engine.begin() as connection:
        ids = dict(connection.execute(
            sa.text('SELECT name, id FROM traits')).fetchall())
    insert(models.ResourceProvider, [
        {'id': n + 1, 'uuid': '%08x-1111-4111-8111-111111111111' % n,
         'name': 'compute%d.example.com' % n, 'generation': 3,
         'root_provider_id': n + 1} for n in range(providers)])
    insert(models.Inventory, [
        {'resource_provider_id': n + 1, 'resource_class_id': rc, 'total': total,
         'reserved': reserved, 'min_unit': 1, 'max_unit': total,
         'step_size': 1, 'allocation_ratio': ratio}
        for n in range(providers) for rc, total, reserved, ratio in stock])
    insert(models.ResourceProviderTrait, [
        {'resource_provider_id': n + 1, 'trait_id': ids[name]}
        for n in range(providers) for i, name in enumerate(traits)
        if (n + i) % 3 != 1])
    insert(models.PlacementAggregate, [
        {'id': n + 1, 'uuid': '%08x-3333-4333-8333-333333333333' % n}
        for n in range(13)])
    insert(models.ResourceProviderAggregate, [
        {'resource_provider_id': n + 1, 'aggregate_id': aggregate + 1}
        for n in range(providers) for aggregate in (n % 3, 3 + n % 10)])
    insert(models.Project, [
        {'id': n + 1, 'external_id': 'project%d' % n} for n in range(20)])
    insert(models.User, [
        {'id': n + 1, 'external_id': 'user%d' % n} for n in range(40)])
    insert(models.ConsumerType, [{'id': 1, 'name': 'INSTANCE'}])
    insert(models.Consumer, [
        {'uuid': '%08x-2222-4222-8222-222222222222' % n, 'generation': 1,
         'project_id': n % 20 + 1, 'user_id': n % 40 + 1,
         'consumer_type_id': 1} for n in range(consumers)])
    insert(models.Allocation, [
        {'resource_provider_id': n * 7 % providers + 1,
         'consumer_id': '%08x-2222-4222-8222-222222222222' % n,
         'resource_class_id': rc, 'used': used}
        for n in range(consumers) for rc, used in ((0, 1), (1, 512), (2, 1))])


def reset():
    path = os.path.join(
        os.environ['OS_PLACEMENT_CONFIG_DIR'], 'placement.sqlite')
    with sqlite3.connect(path, timeout=20) as connection:
        for table in OWN_TABLES:
            connection.execute('DELETE FROM %s' % table)
        for table in ('traits', 'resource_classes'):
            connection.execute(
                "DELETE FROM %s WHERE name LIKE 'CUSTOM#_%%' ESCAPE '#'" % table)
    connection.close()


def wrap(placement):
    def application(environ, start_response):
        if environ['PATH_INFO'] == '/__reset__':
            reset()
            start_response('204 No Content', [])
            return []
        return placement(environ, start_response)
    return application


if __name__ == '__main__':
    if sys.argv[1:] == ['prepare']:
        prepare()
    elif sys.argv[1:2] == ['populate'] and len(sys.argv) == 4:
        populate(int(sys.argv[2]), int(sys.argv[3]))
    else:
        sys.exit(__doc__)
else:
    from placement.wsgi import init_application
    application = wrap(init_application())
