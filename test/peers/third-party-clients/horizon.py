"""Identity requests of Horizon's auth backend when a user logs in, works and logs out, with the clients that Horizon uses."""

import os

import steps
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3
from keystoneclient.v3 import client

URL = os.environ["OS_AUTH_URL"]
DOMAIN = "Default"


class Login:
    """State shared by the steps; in Horizon, the session of the browser."""

    def __init__(self):
        self.session = session.Session()
        self.tokens = []

    def scoped(self, **scope):
        """Returns a scoped token for the unscoped one."""
        auth = v3.Token(URL, token=self.unscoped.auth_token, reauthenticate=False, **scope)
        found = auth.get_access(self.session)
        self.tokens.append(found.auth_token)
        return auth, found


def a_wrong_password_is_refused(login):
    auth = v3.Password(URL, username="admin", password="wrong", user_domain_name=DOMAIN, unscoped=True)
    try:
        auth.get_access(login.session)
    except exceptions.Unauthorized:
        return
    raise AssertionError("a wrong password was taken")


def the_password_gives_a_token_without_scope(login):
    login.auth = v3.Password(
        URL, username=os.environ["OS_USERNAME"], password=os.environ["OS_PASSWORD"], user_domain_name=DOMAIN, unscoped=True)
    login.unscoped = login.auth.get_access(login.session)
    assert not login.unscoped.scoped and not login.unscoped.has_service_catalog(), login.unscoped
    assert login.unscoped.expires.tzinfo is not None


def a_domain_is_tried_first(login):
    """Most users have no role there, and get a project instead."""
    try:
        login.scoped(domain_name=DOMAIN)
    except exceptions.Unauthorized:
        return
    raise AssertionError("nobody granted a role in the domain")


def projects_of_the_user(login):
    keystone = client.Client(session=login.session, auth=login.auth)
    login.projects = [project for project in keystone.projects.list(user=login.unscoped.user_id) if project.enabled]
    assert "admin" in {project.name for project in login.projects}, login.projects
    assert keystone.auth.domains() == []


def a_token_for_each_project(login):
    for project in login.projects:
        login.project_auth, login.project = login.scoped(project_id=project.id)
        assert login.project.project_name == project.name and login.project.role_names, login.project


def the_system_as_a_scope(login):
    auth = v3.Token(URL, token=login.unscoped.auth_token, system_scope="all", reauthenticate=False)
    assert auth.get_access(login.session).system_scoped


def the_catalog_names_what_panels_are_shown(login):
    catalog = login.project.service_catalog
    identity = catalog.get_endpoints(service_type="identity")["identity"]
    [region] = {endpoint["region"] for endpoint in identity if URL in endpoint.values()}
    assert catalog.url_for(service_type="identity", interface="public", region_name=region) == URL
    for service in ("compute", "image", "placement"):
        assert catalog.url_for(service_type=service, interface="public", region_name=region), service


def identity_panels_with_the_scoped_token(login):
    keystone = client.Client(session=login.session, auth=login.project_auth)
    assert {"admin", "demo"} <= {user.name for user in keystone.users.list()}
    assert keystone.roles.list() and keystone.domains.list() and keystone.groups.list() == []
    assert keystone.role_assignments.list(user=login.unscoped.user_id, effective=True)
    assert keystone.application_credentials.list(user=login.unscoped.user_id) == []


def whoever_manages_a_domain_gets_it(login):
    keystone = client.Client(session=login.session, auth=login.project_auth)
    [domain] = keystone.domains.list(name=DOMAIN)
    [role] = keystone.roles.list(name="admin")
    keystone.roles.grant(role, user=login.unscoped.user_id, domain=domain)
    assert [found.name for found in client.Client(session=login.session, auth=login.auth).auth.domains()] == [DOMAIN]
    _, found = login.scoped(domain_name=DOMAIN)
    assert found.domain_scoped and found.role_names, found


def another_project_by_the_same_login(login):
    before = login.project.auth_token
    login.project_auth, login.project = login.scoped(project_id=login.projects[0].id)
    assert login.project.auth_token != before


def logging_out_revokes_the_tokens(login):
    for token in [*login.tokens, login.unscoped.auth_token]:
        endpoint = v3.Token(URL, token=token, reauthenticate=False)
        answer = login.session.delete(
            f"{URL}/auth/tokens", headers={"X-Auth-Token": token, "X-Subject-Token": token}, authenticated=False)
        assert answer.status_code == 204
        try:
            endpoint.get_access(login.session)
        except (exceptions.Unauthorized, exceptions.NotFound):
            continue
        raise AssertionError("a revoked token was taken")


steps.run([each for name, each in list(globals().items()) if callable(each) and getattr(each, "__module__", "") == __name__
           and name != "Login"], Login())
