import { Badge, Button, Select, Stack, Table, Text, Title } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { IconPlus } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { takeData } from '../api/client';
import { useAccount } from '../app/account';
import type { components } from '../generated/api';
import { ConfirmButton } from '../ui/confirm-button';
import { LIVE_MS } from '../ui/live';
import { PageHeader } from '../ui/page-header';
import { ProblemAlert } from '../ui/problem-alert';
import { QueryView } from '../ui/query-view';
import { Time } from '../ui/time';
import { Invite } from './invite';
import { reaches, useRoleOptions } from './roles';

type Member = components['schemas']['MemberOut'];
type Invitation = components['schemas']['InvitationOut'];

export default function TeamPage() {
  const { t } = useTranslation();
  const { id, api, can } = useAccount();
  const [isInviting, { open, close }] = useDisclosure();
  const members = useQuery({
    queryKey: [id, 'members'],
    queryFn: async () => (await takeData(api.GET('/console/api/members'))).data,
    refetchInterval: LIVE_MS,
  });
  const invitations = useQuery({
    queryKey: [id, 'invitations'],
    queryFn: async () => (await takeData(api.GET('/console/api/invitations'))).data,
    refetchInterval: LIVE_MS,
  });
  return (
    <>
      <PageHeader title={t('team.title')} subtitle={t('team.subtitle')}>
        {can('members:write') && (
          <Button leftSection={<IconPlus size={16} />} onClick={open}>
            {t('team.invite')}
          </Button>
        )}
      </PageHeader>
      <Stack gap="xl">
        <QueryView query={members}>{(list) => <MembersTable members={list} />}</QueryView>
        <QueryView query={invitations}>
          {(list) => (list.length === 0 ? null : <InvitationsTable invitations={list} />)}
        </QueryView>
      </Stack>
      <Invite opened={isInviting} close={close} />
    </>
  );
}

function MembersTable({ members }: { members: Member[] }) {
  const { t } = useTranslation();
  const { can } = useAccount();
  return (
    <Table.ScrollContainer minWidth={560}>
      <Table verticalSpacing="sm">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{t('common.name')}</Table.Th>
            <Table.Th>{t('team.role')}</Table.Th>
            <Table.Th>{t('team.secondFactor')}</Table.Th>
            {can('members:write') && <Table.Th>{t('common.actions')}</Table.Th>}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {members.map((member) => (
            <MemberRow key={member.user_id} member={member} />
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function MemberRow({ member }: { member: Member }) {
  const { t } = useTranslation();
  const { id, api, access, can } = useAccount();
  const queries = useQueryClient();
  const options = useRoleOptions();
  const params = { path: { user_id: member.user_id } };
  const renew = () => queries.invalidateQueries({ queryKey: [id, 'members'] });
  const change = useMutation({
    // Owners have all numbers.
    mutationFn: (role: Member['role']) =>
      api.PATCH('/console/api/members/{user_id}', {
        params,
        body: { role, ...(role === 'owner' && { instance_ids: null }) },
      }),
    onSettled: renew,
  });
  const remove = async () => {
    await api.DELETE('/console/api/members/{user_id}', { params });
    await renew();
  };
  const hasSecondFactor = member.has_totp || member.has_passkey;
  // Only owners change owners.
  const mayChange =
    can('members:write') && (member.role !== 'owner' || can('owners:write')) && reaches(access, member);
  return (
    <Table.Tr>
      <Table.Td>
        <Text fw={600}>{member.name}</Text>
        <Text size="sm" c="dimmed" className="wrap" miw={180}>
          {member.email}
        </Text>
        {member.instance_ids !== null && (
          <Text size="xs" c="dimmed">
            {t('keys.restricted', { count: member.instance_ids.length })}
          </Text>
        )}
      </Table.Td>
      <Table.Td>
        {mayChange ? (
          <Select
            aria-label={t('team.roleOf', { name: member.name })}
            data={options}
            value={member.role}
            onChange={(role) => role !== null && change.mutate(role)}
            allowDeselect={false}
            maw={180}
          />
        ) : (
          t(`team.roles.${member.role}.name`)
        )}
        <ProblemAlert error={change.error} />
      </Table.Td>
      <Table.Td>
        <Badge color={hasSecondFactor ? 'teal' : 'gray'} variant="light" tt="none">
          {t(hasSecondFactor ? 'common.yes' : 'common.no')}
        </Badge>
      </Table.Td>
      {can('members:write') && (
        <Table.Td>
          {mayChange && (
            <ConfirmButton
              size="xs"
              label={t('team.remove')}
              title={t('team.removeTitle', { name: member.name })}
              text={t('team.removeText')}
              action={remove}
            />
          )}
        </Table.Td>
      )}
    </Table.Tr>
  );
}

function InvitationsTable({ invitations }: { invitations: Invitation[] }) {
  const { t } = useTranslation();
  const { id, api, access, can } = useAccount();
  const queries = useQueryClient();
  const withdraw = async (invitation: string) => {
    await api.DELETE('/console/api/invitations/{invitation_id}', {
      params: { path: { invitation_id: invitation } },
    });
    await queries.invalidateQueries({ queryKey: [id, 'invitations'] });
  };
  return (
    <Stack component="section">
      <Title order={2} size="h4">
        {t('team.invitations')}
      </Title>
      <Table verticalSpacing="sm">
        <Table.Tbody>
          {invitations.map((invitation) => (
            <Table.Tr key={invitation.id}>
              <Table.Td className="wrap">{invitation.email}</Table.Td>
              <Table.Td>{t(`team.roles.${invitation.role}.name`)}</Table.Td>
              <Table.Td visibleFrom="sm">
                {t('keys.expires')} <Time value={invitation.expires_at} />
              </Table.Td>
              <Table.Td>
                {can('members:write') && reaches(access, invitation) && (
                  <ConfirmButton
                    size="xs"
                    label={t('team.withdraw')}
                    title={t('team.withdrawTitle')}
                    text={t('team.withdrawText')}
                    action={() => withdraw(invitation.id)}
                  />
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Stack>
  );
}
