import { Button, Group, Paper, Select, Stack, Text, TextInput, Title } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent, type ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useNavigate } from 'react-router';
import { useAccount } from '../app/account';
import { ConfirmButton } from '../ui/confirm-button';
import { ProblemAlert } from '../ui/problem-alert';
import { SavedNote } from '../ui/saved-note';
import { useRenewInstance, type Instance } from './queries';

const MODES = ['native+text', 'native', 'text'] as const;
const OTHER_ACCOUNTS = ['refuse', 'accept'] as const;

export function NumberSettings({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  return (
    <Stack maw={640}>
      <Rename instance={instance} />
      <Connection instance={instance} />
      <Section title={t('number.delete.title')} help={t('number.delete.help')}>
        <DeleteNumber instance={instance} />
      </Section>
    </Stack>
  );
}

function Section({ title, help, children }: { title: string; help: string; children: ReactNode }) {
  return (
    <Paper withBorder p="lg">
      <Title order={2} size="h4">
        {title}
      </Title>
      <Text c="dimmed" size="sm" mb="sm">
        {help}
      </Text>
      {children}
    </Paper>
  );
}

function Rename({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const renew = useRenewInstance(instance.id);
  const [name, setName] = useState(instance.name);
  const [mode, setMode] = useState(instance.interactive_mode);
  const [otherAccount, setOtherAccount] = useState(instance.on_other_account);
  const change = useMutation({
    mutationFn: () =>
      gwk.instances.update(instance.id, {
        name: name.trim(),
        interactive_mode: mode,
        on_other_account: otherAccount,
      }),
    onSuccess: renew,
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    change.mutate();
  };
  return (
    <Section title={t('number.settings.title')} help={t('number.settings.help')}>
      <form onSubmit={submit}>
        <Stack>
          <TextInput
            label={t('common.name')}
            required
            maxLength={80}
            value={name}
            onChange={(event) => setName(event.currentTarget.value)}
          />
          <Select
            label={t('number.settings.mode')}
            description={t('number.settings.modeHelp')}
            data={MODES.map((value) => ({ value, label: t(`number.settings.modes.${value}`) }))}
            value={mode}
            onChange={(value) => value !== null && setMode(value)}
            allowDeselect={false}
          />
          <Select
            label={t('number.settings.otherAccount')}
            description={t('number.settings.otherAccountHelp')}
            data={OTHER_ACCOUNTS.map((value) => ({
              value,
              label: t(`number.settings.otherAccounts.${value}`),
            }))}
            value={otherAccount}
            onChange={(value) => value !== null && setOtherAccount(value)}
            allowDeselect={false}
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

function Connection({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { gwk } = useAccount();
  const renew = useRenewInstance(instance.id);
  const restart = useMutation({
    mutationFn: () => gwk.instances.restart(instance.id),
    onSuccess: renew,
  });
  const logout = useMutation({
    mutationFn: () => gwk.instances.logout(instance.id),
    onSuccess: renew,
  });
  return (
    <Section title={t('number.connection.title')} help={t('number.connection.help')}>
      <Stack>
        <Group>
          <Button variant="default" loading={restart.isPending} onClick={() => restart.mutate()}>
            {t('number.connection.restart')}
          </Button>
          <ConfirmButton
            label={t('number.connection.logout')}
            title={t('number.connection.logoutTitle', { name: instance.name })}
            text={t('number.connection.logoutText')}
            action={() => logout.mutateAsync()}
          />
          <SavedNote shown={restart.isSuccess} text={t('number.connection.restarted')} />
        </Group>
        <ProblemAlert error={restart.error} />
      </Stack>
    </Section>
  );
}

function DeleteNumber({ instance }: { instance: Instance }) {
  const { t } = useTranslation();
  const { id, gwk, path } = useAccount();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = async () => {
    await gwk.instances.delete(instance.id);
    await queries.invalidateQueries({ queryKey: [id, 'instances'] });
    void navigate(path('numbers'));
  };
  return (
    <ConfirmButton
      label={t('number.delete.button')}
      title={t('number.delete.confirm', { name: instance.name })}
      text={t('number.delete.text')}
      name={instance.name}
      action={remove}
    />
  );
}
