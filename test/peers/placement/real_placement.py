"""A real OpenStack Placement for tests, as a WSGI module (real_placement:application).

As a program it makes the database: real_placement.py prepare. The folder named by OS_PLACEMENT_CONFIG_DIR holds
placement.conf. POST /__reset__ empties a SQLite database, down to the standard classes and traits.
"""

import os
import sqlite3
import sys

OWN_TABLES = (
    'allocations', 'consumers', 'consumer_types', 'projects', 'users',
    'inventories', 'resource_provider_traits', 'resource_provider_aggregates',
    'placement_aggregates', 'resource_providers')


def prepare():
    from oslo_config import cfg
    from oslo_policy import opts as policy_opts
    from placement import conf
    from placement import db_api
    from placement import deploy
    from placement.db.sqlalchemy import migration

    config = cfg.ConfigOpts()
    conf.register_opts(config)
    policy_opts.set_defaults(config)
    file = os.path.join(os.environ['OS_PLACEMENT_CONFIG_DIR'], 'placement.conf')
    config([], project='placement', default_config_files=[file])
    db_api.configure(config)
    migration.upgrade('head')
    deploy.update_database(config)


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
    if sys.argv[1:] != ['prepare']:
        sys.exit(__doc__)
    prepare()
else:
    from placement.wsgi import init_application
    application = wrap(init_application())
