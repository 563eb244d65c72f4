import {
  Badge,
  Button,
  Group,
  Paper,
  PasswordInput,
  Stack,
  Table,
  Text,
  TextInput,
  Title,
} from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { getClient, takeData } from '../api/client';
import { useSignInMethods } from '../session/provider';
import { useSession } from '../session/session';
import { ConfirmButton } from '../ui/confirm-button';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { SavedNote } from '../ui/saved-note';
import { Time } from '../ui/time';
import { Passkeys } from './passkeys';
import { SecondFactor } from './second-factor';

const api = getClient(null);

export default function ProfilePage() {
  const { t } = useTranslation();
  const { user } = useSession();
  const { data: methods } = useSignInMethods();
  return (
    <>
      <PageHeader title={t('profile.title')} subtitle={user.email} />
      <Stack maw={720}>
        <NameForm />
        {methods?.password && <PasswordForm />}
        <Section title={t('secondFactor.title')} help={t('secondFactor.help')}>
          <SecondFactor />
        </Section>
        <Section title={t('passkeys.title')} help={t('passkeys.help')}>
          <Passkeys />
        </Section>
        <Sessions />
      </Stack>
    </>
  );
}

interface SectionProps {
  title: string;
  help: string;
  children: ReactNode;
}

function Section({ title, help, children }: SectionProps) {
  return (
    <Paper withBorder p="lg" component="section">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text size="sm" c="dimmed" mb="sm">
        {help}
      </Text>
      {children}
    </Paper>
  );
}

function NameForm() {
  const { t } = useTranslation();
  const { user } = useSession();
  const queries = useQueryClient();
  const [name, setName] = useState(user.name);
  const change = useMutation({
    mutationFn: () => api.PATCH('/console/api/profile', { body: { name: name.trim() } }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ['session'] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Section title={t('profile.name')} help={t('profile.nameHelp')}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t('common.name')}
            required
            maxLength={80}
            autoComplete="name"
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <ProblemAlert error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t('common.save')}
            </Button>
            <SavedNote shown={change.isSuccess} />
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function PasswordForm() {
  const { t } = useTranslation();
  const { user } = useSession();
  const queries = useQueryClient();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const change = useMutation({
    mutationFn: () =>
      api.POST('/console/api/profile/password', {
        body: { current: user.has_password ? current : null, password },
      }),
    onSuccess: () => {
      setCurrent('');
      setPassword('');
      return queries.invalidateQueries({ queryKey: ['session'] });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Section title={t('profile.password')} help={t('profile.passwordHelp')}>
      <form onSubmit={submit}>
        <Stack>
          {/* Password managers store the password for this e-mail. */}
          <input type="hidden" autoComplete="username" value={user.email} readOnly />
          {user.has_password && (
            <PasswordInput
              label={t('profile.current')}
              autoComplete="current-password"
              required
              value={current}
              onChange={(event) => setCurrent(event.currentTarget.value)}
            />
          )}
          <PasswordInput
            label={t('profile.next')}
            description={t('profile.nextHelp')}
            autoComplete="new-password"
            required
            minLength={12}
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <ProblemAlert error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending}>
              {t('common.save')}
            </Button>
            <SavedNote shown={change.isSuccess} />
          </Group>
        </Stack>
      </form>
    </Section>
  );
}

function Sessions() {
  const { t } = useTranslation();
  const queries = useQueryClient();
  const queryKey = ['profile-sessions'];
  const sessions = useQuery({
    queryKey,
    queryFn: async () => (await takeData(api.GET('/console/api/profile/sessions'))).data,
    refetchInterval: LIVE_MS,
  });
  const end = async (id: string) => {
    await api.DELETE('/console/api/profile/sessions/{session_id}', { params: { path: { session_id: id } } });
    await queries.invalidateQueries({ queryKey });
  };
  return (
    <Section title={t('profile.sessions')} help={t('profile.sessionsHelp')}>
      <QueryView query={sessions}>
        {(list) => (
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{t('profile.browser')}</Table.Th>
                <Table.Th>{t('profile.lastSeen')}</Table.Th>
                <Table.Th>{t('common.actions')}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {list.map((session) => (
                <Table.Tr key={session.id}>
                  <Table.Td>
                    <Text size="sm" lineClamp={2} className="wrap">
                      {session.user_agent}
                    </Text>
                    <Text size="xs" c="dimmed">
                      {session.address}
                    </Text>
                  </Table.Td>
                  <Table.Td>
                    <Time value={session.last_seen_at} />
                  </Table.Td>
                  <Table.Td>
                    {session.is_current ? (
                      <Badge variant="light" tt="none">
                        {t('profile.thisSession')}
                      </Badge>
                    ) : (
                      <ConfirmButton
                        size="xs"
                        label={t('profile.end')}
                        title={t('profile.endTitle')}
                        text={t('profile.endText')}
                        action={() => end(session.id)}
                      />
                    )}
                  </Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        )}
      </QueryView>
    </Section>
  );
}
