# SPDX-License-Identifier: Apache-2.0
# The standard library in the binary: every .plan under grammar/std becomes a row of `std_files`,
# sorted by path. Sets STD_SOURCE to the file to compile.
set(std_root ${PROJECT_SOURCE_DIR}/grammar/std)
file(GLOB_RECURSE std_plans CONFIGURE_DEPENDS ${std_root}/*.plan)
list(SORT std_plans)
set(STD_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/std_files.c)
add_custom_command(
	OUTPUT ${STD_SOURCE}
	COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR}/grammar -DOUTPUT=${STD_SOURCE}
		-P ${CMAKE_CURRENT_LIST_DIR}/std_embed.cmake
	DEPENDS ${std_plans} ${CMAKE_CURRENT_LIST_DIR}/std_embed.cmake
	COMMENT "Embedding the standard library"
	VERBATIM)
