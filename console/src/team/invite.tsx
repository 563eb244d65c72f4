import { Alert, Button, Group, Modal, Select, Stack, TextInput } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState, type FormEvent } from 'react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import { CopyText } from '../ui/copy-text';
import { InstancesSelect } from '../ui/instance-select';
import { ProblemAlert } from '../ui/problem-alert';
import { useRoleOptions, type Role } from './roles';

export function Invite({ opened, close }: { opened: boolean; close: () => void }) {
  const { t } = useTranslation();
  return (
    <Modal
      opened={opened}
      onClose={close}
      title={t('team.invite')}
      closeOnClickOutside={false}
      closeButtonProps={{ 'aria-label': t('common.close') }}
    >
      <InviteForm close={close} />
    </Modal>
  );
}

function InviteForm({ close }: { close: () => void }) {
  const { t } = useTranslation();
  const { id, api } = useAccount();
  const queries = useQueryClient();
  const options = useRoleOptions();
  const [email, setEmail] = useState('');
  const [role, setRole] = useState<Role>('agent');
  const [instances, setInstances] = useState<string[]>([]);
  const invitation = useMutation({
    mutationFn: () => {
      const everything = role === 'owner' || instances.length === 0;
      const body = { email: email.trim(), role, instance_ids: everything ? null : instances };
      return takeData(api.POST('/console/api/invitations', { body }));
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: [id, 'invitations'] }),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    invitation.mutate();
  };
  if (invitation.data) {
    const { emailed } = invitation.data;
    return (
      <Stack>
        <Alert
          color={emailed === false ? 'yellow' : 'teal'}
          title={t('team.invited', { email: invitation.data.email })}
          role="status"
        >
          {t(emailed === null ? 'team.link' : emailed ? 'team.emailed' : 'team.notEmailed')}
          <CopyText text={invitation.data.url} />
        </Alert>
        <Group justify="flex-end">
          <Button onClick={close}>{t('common.close')}</Button>
        </Group>
      </Stack>
    );
  }
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('signIn.email')}
          type="email"
          required
          data-autofocus
          value={email}
          onChange={(event) => setEmail(event.currentTarget.value)}
        />
        <Select
          label={t('team.role')}
          description={t(`team.roles.${role}.help`)}
          data={options}
          value={role}
          onChange={(value) => value !== null && setRole(value)}
          allowDeselect={false}
        />
        {role !== 'owner' && (
          <InstancesSelect description={t('team.numbersHelp')} value={instances} onChange={setInstances} />
        )}
        <ProblemAlert error={invitation.error} />
        <Group justify="flex-end">
          <Button variant="default" onClick={close}>
            {t('common.cancel')}
          </Button>
          <Button type="submit" loading={invitation.isPending}>
            {t('team.send')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
